"""A run folder can be passed on: it tells nothing of the machine that made it."""

import os
from pathlib import Path

import pytest

from command_line import call
from fuzz.seeds import write_csv
from quietgraph.report.run_files import shown_command, shown_noise, shown_path

MARK = "secretplace"


@pytest.mark.integration
def test_no_file_of_a_run_names_folder_or_host(tmp_path: Path, monkeypatch) -> None:
    folder = tmp_path / MARK
    monkeypatch.setattr("socket.gethostname", lambda: f"{MARK}.example")
    for name in ("USER", "LOGNAME", "HOSTNAME"):
        monkeypatch.setenv(name, MARK)
    (folder / "tables").mkdir(parents=True)
    write_csv(folder / "tables")
    (folder / "fix.csv").write_text("node,label\nn1,a\n")
    words = ["fit", folder / "tables", "--method", "gcn", "--set", "epochs=1"]
    words += [f"--fix={folder / 'fix.csv'}", "--out", folder / "run", "--threads", 1]
    monkeypatch.setattr("sys.argv", ["quietgraph", *map(str, words)])
    outcome = call(*words)
    assert outcome.exit_code == 0, outcome.exception
    export = call("review", folder / "run", "--export", folder / "run" / "all.csv")
    assert export.exit_code == 0, export.exception
    files = [path for path in (folder / "run").rglob("*") if path.is_file()]
    assert len(files) > 8
    names = [MARK, str(tmp_path)]
    for path in files:
        content = path.read_bytes()
        assert [name for name in names if name.encode() in content] == [], path.name
    assert '"threads": 1' in (folder / "run" / "run.json").read_text()


def test_a_path_is_shown_as_it_is_from_here(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path("cora") == "cora"
    assert shown_path(os.path.join("..", "data")) == os.path.join("..", "data")
    assert shown_path(str(tmp_path / "a" / "b.csv")) == os.path.join("a", "b.csv")
    assert shown_path("/elsewhere/b.csv") == "b.csv"
    noise = "custom:/elsewhere/t.csv#0a1b2c3d+exact-count"
    assert shown_noise(noise) == "custom:t.csv#0a1b2c3d+exact-count"
    assert shown_noise("symmetric:0.4") == "symmetric:0.4"
    assert shown_command(["fit", "--noise=labels:/a/b.csv"]) == "fit --noise=labels:b.csv"
    assert shown_command(["fit", "--noise", "custom:/a/b.csv"]) == "fit --noise custom:b.csv"
    words = ["quietgraph", "fit", "/elsewhere/my graph", "--fix=/elsewhere/b.csv", "--set", "a=/b"]
    assert shown_command(words) == "quietgraph fit 'my graph' --fix=b.csv --set a=/b"
