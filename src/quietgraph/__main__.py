"""`python -m quietgraph` is the command `quietgraph`."""

from quietgraph.cli.app import main

main()
