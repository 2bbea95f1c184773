"""quiet: an ensemble of noise-aware classifiers on low-rank embeddings."""
