"""`quietgraph review` from the command line: crash, export, and one sentence per mistake."""

import errno
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from command_line import run_main
from quietgraph.graph.io import read_corrections
from quietgraph.report.run_files import DECISIONS_FILE
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run

START = "from quietgraph.cli.app import main; main()"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]):
    def run_command(*arguments: str) -> tuple[int, str, str]:
        code = run_main("review", *arguments)
        captured = capsys.readouterr()
        return code, captured.out, " ".join(captured.err.split())

    return run_command


def decide(link: str, decisions: list[dict[str, str]]) -> None:
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    page = opener.open(link, timeout=20).read().decode()
    assert "Labels to review" in page
    origin = link.partition("/?")[0]
    headers = {"Content-Type": "application/json", "Origin": origin}
    for decision in decisions:
        body = json.dumps(decision).encode()
        request = urllib.request.Request(f"{origin}/decisions", body, headers)
        assert opener.open(request, timeout=20).status == 201


def test_a_killed_server_loses_no_decision(folder: Path, call) -> None:
    pytest.importorskip("uvicorn", reason="the extra [review] is not installed")
    arguments = ["review", str(folder), "--port", "0", "--no-browser", "--reviewer", "Ann"]
    command = [sys.executable, "-c", START, *arguments]
    nodes = list(open_run(folder).suspects)[:5]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            link = server.stdout.readline().split()[-1]
            made = [{"node": node, "reviewer": "Ann", "choice": "accept"} for node in nodes]
            decide(link, made)
        finally:
            os.kill(server.pid, signal.SIGKILL)
    saved = DecisionStore(folder / DECISIONS_FILE).after()
    assert [decision.node for decision in saved] == nodes
    target = folder.parent / "verified.csv"
    code, out, err = call(str(folder), "--export", str(target))
    assert code == 0
    assert "5 labels decided (5 accept)" in out
    assert list(read_corrections(target).labels) == nodes
    assert f"--verified {target}" in err


def test_conflicts_are_exported_as_unsure_and_counted(folder: Path, call, tmp_path: Path) -> None:
    store, (first, second) = (
        DecisionStore(folder / DECISIONS_FILE),
        list(open_run(folder).suspects)[:2],
    )
    for node, reviewer, choice, label in (
        (first, "A", "accept", "x"),
        (first, "B", "keep", "y"),
        (second, "A", "keep", "y"),
    ):
        store.add(node, reviewer, choice, label)
    code, out, _ = call(str(folder), "--export", str(tmp_path / "c.csv"))
    assert code == 0
    assert "2 labels decided (1 keep; 1 conflicts left as unsure)" in out
    assert read_corrections(tmp_path / "c.csv").labels == {second: "y"}
    assert "A: x; B: y" in (tmp_path / "c.csv").read_text(encoding="utf-8")


def test_a_folder_that_is_no_run_is_refused(call, tmp_path: Path) -> None:
    code, out, err = call(str(tmp_path))
    assert (code, out) == (2, "")
    assert "is no run folder" in err
    assert list(tmp_path.iterdir()) == []


def test_a_page_of_an_earlier_version_says_how_to_go_on(folder: Path, call) -> None:
    (folder / "evidence.jsonl").unlink()
    code, _, err = call(str(folder))
    assert code == 2
    assert "written by an earlier quietgraph" in err
    assert "Fit again: quietgraph fit" in err


def test_a_port_in_use_is_refused(folder: Path, call) -> None:
    pytest.importorskip("uvicorn", reason="the extra [review] is not installed")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = call(str(folder), "--port", str(port), "--no-browser")
    assert code == 2
    assert f"cannot listen on 127.0.0.1 port {port}" in err
    assert "--port" in err


def test_exporting_no_decisions_is_refused(folder: Path, call, tmp_path: Path) -> None:
    code, _, err = call(str(folder), "--export", str(tmp_path / "c.csv"))
    assert code == 2
    assert "there are no decisions yet" in err
    assert not (tmp_path / "c.csv").exists()
    assert not (folder / DECISIONS_FILE).exists()


def test_decisions_of_the_run_that_was_replaced_are_named(folder: Path, call, tmp_path) -> None:
    (folder / "earlier-1").mkdir()
    code, _, err = call(str(folder), "--export", str(tmp_path / "c.csv"))
    assert code == 2
    assert f"--verified {folder / 'earlier-1'}" in " ".join(err.split())


def test_a_missing_extra_is_named(folder: Path, call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "quietgraph.review.listen", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = call(str(folder), "--no-browser")
    assert code == 2
    assert "needs the package uvicorn" in err
    assert "pip install 'quietgraph[review]'" in err


def test_a_full_disk_is_said_at_once(folder: Path, call, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    code, out, err = call(str(folder), "--no-browser")
    assert (code, out) == (2, "")
    assert "decisions cannot be saved" in err
    assert "No space left on device" in err


def test_a_reviewers_name_is_checked_at_once(folder: Path, call) -> None:
    code, _, err = call(str(folder), "--no-browser", "--reviewer", "A\x1b[2J")
    assert code == 2
    assert "without control characters" in err
