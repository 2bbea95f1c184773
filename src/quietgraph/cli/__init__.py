"""The command line: options become calls."""
