"""Figures of the docs from the records in results/: `make study-docs`."""
