"""GRAND+."""
