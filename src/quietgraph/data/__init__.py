"""Observations: a graph, its observed labels, splits, noise and benchmark datasets."""
