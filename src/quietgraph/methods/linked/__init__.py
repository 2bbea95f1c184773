"""Methods that add predicted links."""
