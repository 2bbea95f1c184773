"""What a fit leaves behind: a folder of tables, the model and a page."""
