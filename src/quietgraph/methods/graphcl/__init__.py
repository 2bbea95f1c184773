"""GraphCL for nodes."""
