"""Several annotators: their consensus and quality, what to label next, language models."""
