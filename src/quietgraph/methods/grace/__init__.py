"""Methods built on the GRACE encoder: ARIEL, SFA, GraphCL."""
