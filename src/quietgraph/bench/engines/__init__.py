"""Where the runs of a sweep are carried out."""
