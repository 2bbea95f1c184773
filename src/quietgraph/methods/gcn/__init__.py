"""GCN and methods that change its loss."""
