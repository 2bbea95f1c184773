"""What methods share: the estimator, its task, training loops."""
