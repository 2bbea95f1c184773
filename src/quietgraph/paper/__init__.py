"""The tables and figures of the paper: what each needs, and our numbers beside the printed ones."""
