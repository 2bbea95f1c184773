"""The review page, and the decisions that people make on it."""
