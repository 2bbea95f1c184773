"""Clean predictions from noisy graphs."""
