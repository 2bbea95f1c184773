"""The files that other programs read: container, workflow, citation, metadata of the wheel."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from paths import ROOT
from quietgraph import __version__
from quietgraph.cli.app import app

TOOLS = Path(sys.executable).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def tool(name: str, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a program of this environment, or skip where it cannot be had."""
    path = shutil.which(name, path=str(TOOLS))
    if path is None:
        pytest.skip(f"{name} is not installed here (extra `dev`)")
    return subprocess.run([path, *map(str, words)], capture_output=True, text=True, check=False)


def test_the_container_file_has_no_finding() -> None:
    done = tool("hadolint", "--failure-threshold", "style", ROOT / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("schema", "path"),
    [("github-workflows", ".github/workflows/ci.yml"), ("citation-file-format", "CITATION.cff")],
)
def test_files_follow_their_schema(schema: str, path: str) -> None:
    done = tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", ROOT / path)
    assert done.returncode == 0, done.stdout


def test_the_container_serves_a_review_as_a_user_without_rights() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    command = json.loads(re.findall(r"^CMD (\[.*\])$", text, flags=re.MULTILINE)[-1])
    review = typer.main.get_command(app).commands["review"]
    options = {name for one in review.params for name in (*one.opts, *one.secondary_opts)}
    assert command[0] == "review"
    assert {word for word in command if word.startswith("--")} <= options
    assert re.search(r"^USER 10001$", text, flags=re.MULTILINE)


def test_the_container_takes_only_files_that_are_there() -> None:
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
    names = [name for line in copied for name in line.split()]
    assert names
    assert all((ROOT / name).exists() for name in names)
    kept = (ROOT / ".dockerignore").read_text().splitlines()
    assert {f"!{name}" for name in names} <= set(kept)


def test_versions_agree() -> None:
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited is not None
    assert __version__ == PROJECT["version"] == cited[1]


def test_every_version_of_python_is_named_and_tried() -> None:
    named = {one.rpartition(" ")[2] for one in PROJECT["classifiers"] if "Python :: 3." in one}
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    tried = re.findall(r"matrix: \{ python: \[(.*)\] \}", workflow)
    assert [set(re.findall(r"[\d.]+", one)) for one in tried] == [named, named]
