"""SUGRL."""
