"""Every method, by name and class."""
