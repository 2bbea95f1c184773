"""How far labels and predictions of a fitted model can be trusted, read from outside."""
