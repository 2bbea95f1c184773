"""Which observed labels are probably wrong, and why."""
