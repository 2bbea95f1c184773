"""The options of every command: light modules, so that `--help` does not wait for torch."""
