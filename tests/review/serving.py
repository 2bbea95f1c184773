"""A server of the review or of predictions, running in a thread of the test."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from quietgraph.review.listen import Served, listen, make_server


@contextmanager
def serving(served: Served) -> Iterator[int]:
    """Serve inside the block; the port."""
    with listen("127.0.0.1", 0) as listener:
        server = make_server(served)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        server.force_exit = server.should_exit = True
        thread.join(10)
