"""Methods built on sparse graph attention."""
