"""Low-rank contrast with low-rank attention: as we build it, and as the paper prints it."""
