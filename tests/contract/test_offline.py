"""Nothing is asked of the network by import, fit, suspects or report."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.seeds import write_csv

PROGRAM = """
import socket, sys
asked = []
def refuse(event, details):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        asked.append((event, details))
        raise OSError(f"{event} {details}")
sys.addaudithook(refuse)
import quietgraph as qg
from quietgraph.cli.app import main
sys.argv = ["quietgraph", "fit", "tables", "--method", "gcn", "--set", "epochs=1", "--out", "run"]
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
model = qg.load_model("run/model")
model.suspects()
model.diagnose()
assert not asked, asked
"""


@pytest.mark.integration
def test_no_connection_is_opened(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    write_csv(tmp_path / "tables")
    paths = os.pathsep.join(str(Path(path).absolute()) for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "run" / "report.html").exists()
