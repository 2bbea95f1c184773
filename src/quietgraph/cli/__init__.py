"""Stage 8, say: arguments become calls."""
