"""MERIT, and the two methods that train its siamese network with labels."""
