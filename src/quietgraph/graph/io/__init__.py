"""Pieces of files: tables, arrays and networks; nothing here knows labels, splits or `Data`."""
