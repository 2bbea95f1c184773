"""Several annotators: their consensus, how good each of them is, and what to ask next."""
