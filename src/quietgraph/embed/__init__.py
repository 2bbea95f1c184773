"""Label-free learning: sparse products, views, losses, encoders, training."""
