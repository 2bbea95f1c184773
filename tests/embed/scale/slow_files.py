"""The command line whose processes wait after opening files of rows, until they were killed once.

On a small graph such a file lasts some milliseconds, too short for a test that kills a process
while it is there. A script of its own, as processes that it starts import it and so wait too.
"""

import os
import time
from pathlib import Path

from quietgraph.cli.app import main
from quietgraph.embed.scale import node_rows

SECONDS = 0.5
START = os.environ.get("SLOW_FILES", "no file")  # of the names of these files


class SlowFile(node_rows._File):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        is_first_try = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
        if is_first_try and path.name.startswith(START):
            time.sleep(SECONDS)


node_rows._File = SlowFile

if __name__ == "__main__":
    main()
