"""`quietgraph serve` from the command line: a token, one sentence per mistake, shell completion."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import quietgraph as qg
from command_line import printed, refused
from quietgraph.testing import small_problem

pytest.importorskip("uvicorn", reason="the extra [review] is not installed")

START = "from quietgraph.cli.app import main; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    problem, labels, _ = small_problem()
    model = qg.GCN(epochs=5, hidden=8).fit(problem.graph, labels)
    return model.save(tmp_path_factory.mktemp("served") / "model")


@pytest.mark.integration
def test_a_served_model_answers_with_its_token(folder: Path) -> None:
    command = [sys.executable, "-c", START, "serve", str(folder), "--port", "0", "--json"]
    environment = {**os.environ, "QUIETGRAPH_TOKEN": "long enough"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert said["token"] == "long enough"
        asked = urllib.request.Request(
            f"{said['address']}/predict",
            json.dumps({"nodes": [0, 1]}).encode(),
            {"Authorization": f"Bearer {said['token']}"},
        )
        with urllib.request.urlopen(asked, timeout=30) as answer:
            found = json.load(answer)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    model = qg.load_model(folder)
    assert [row["label"] for row in found["predictions"]] == model.predict()[:2].tolist()


def test_mistakes_are_one_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "no readable model" in str(refused("serve", tmp_path))
    monkeypatch.setenv("QUIETGRAPH_TOKEN", "short")
    assert "at least 8" in str(refused("serve", folder))


def test_the_shell_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION", "1")
    assert "quietgraph" in printed("--show-completion", "bash")
