"""Stage 7, show: records and fits become tables, figures and one HTML page."""
