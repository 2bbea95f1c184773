"""How low-frequency, how complex, how trustworthy an embedding is."""
