"""Deciding on suspicious labels in the browser, alone or with others."""
