"""The tables and figures of the paper: what each needs, and our numbers beside the printed ones."""

from quietgraph.paper.paper import PaperTable, paper_tables

__all__ = ["PaperTable", "paper_tables"]
