"""Methods built on the GRACE encoder."""
