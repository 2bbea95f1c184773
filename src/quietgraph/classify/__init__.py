"""What is learned on top of embeddings: linear classifiers, attention, label noise."""
