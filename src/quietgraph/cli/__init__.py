"""Stage 11, say: arguments become calls."""

import time
from typing import Final

STARTED: Final = time.perf_counter()  # before anything heavy is imported
