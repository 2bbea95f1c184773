"""GCL-LRR and GCL-LR-Attention."""
