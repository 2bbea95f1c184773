"""Training and inference in partitions, checkpoints, several processes."""
