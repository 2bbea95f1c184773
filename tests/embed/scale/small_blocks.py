"""The command line with limits of size under which a small graph is worked on as a large one is.

A script of its own, as processes that it starts import it and so have these limits too.
"""

import slow_files  # noqa: F401  (beside this script)

from quietgraph.classify import smoothing
from quietgraph.cli.app import main
from quietgraph.embed.scale import node_rows, node_sample
from quietgraph.methods.low_rank import encoder, large_features
from quietgraph.methods.quiet import features

node_sample.MOST_NODES = 150
features._WHOLE_UP_TO = large_features.LARGE = 100
smoothing.WHOLE_UP_TO = encoder.WHOLE_UP_TO = 100
node_rows.BLOCK = 30  # of which each process has several

if __name__ == "__main__":
    main()
