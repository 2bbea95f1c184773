"""A stranger's path: the wheel away from the repository, and every command of the first page."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from pages import blocks, commands
from paths import ROOT

PAGE = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
TUTORIAL = (ROOT / "docs" / "own-data.md").read_text(encoding="utf-8")
CPU_BUILD = "pip install torch --index-url"
INSTALLED = ("python -m venv", ". quiet", "pip install")  # what the cheap twin leaves out


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source archive from a copy, so that the repository stays as it is."""
    copy, out = (tmp_path_factory.mktemp(name) for name in ("copy", "sdist"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", copy / "src", ignore=left_out)
    program = f"from setuptools.build_meta import build_sdist; build_sdist({str(out)!r})"
    subprocess.run([sys.executable, "-c", program], cwd=copy, capture_output=True, check=True)
    return next(out.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source archive alone."""
    out = tmp_path_factory.mktemp("dist")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", out, sdist)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the wheel as pip does, into a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    pip("install", "--no-deps", "--target", folder, wheel)
    return folder


def pip(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "pip", "-q", *map(str, words)], check=True)


def run(command: str, folder: Path, paths: list[Path], **more: str) -> list[str]:
    """Run a command of the page in a folder and return the lines it prints."""
    found = os.pathsep.join([*map(str, paths), os.environ["PATH"]])
    env = {**os.environ, "PATH": found, "PYTHONPATH": "", "OMP_NUM_THREADS": "1", **more}
    start = time.perf_counter()
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    sys.stdout.write(f"{time.perf_counter() - start:7.1f} s  $ {command}\n")
    assert done.returncode == 0, f"$ {command}\n{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()


def follow(page: list[tuple[str, list[str]]], folder: Path, paths: list[Path], **more: str) -> None:
    """Follow the page: write its scripts and its notebook, run its commands, compare."""
    for name, mark in (("make_shop.py", "draws = np.random"), ("review.py", "# review.py")):
        (script,) = [block for block in blocks("python", TUTORIAL) if mark in block]
        (folder / name).write_text(script)
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []}
    for number, source in enumerate(blocks("python", PAGE)):
        empty = {"execution_count": None, "metadata": {}, "outputs": []}
        cell = {"cell_type": "code", "id": f"cell{number}", "source": source, **empty}
        notebook["cells"].append(cell)
    (folder / "first.ipynb").write_text(json.dumps(notebook))
    for command, shown in page:
        said = run(command, folder, paths, **more)
        assert not shown or shown == said, f"$ {command}"


def test_the_source_archive_has_licence_citation_and_changes(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "CITATION.cff", "CHANGELOG.md", "README.md", "constraints.txt"} <= names
    assert not [name for name in names if name.startswith("tests")]


def test_the_wheel_holds_what_the_package_reads(site: Path) -> None:
    source = ROOT / "src" / "quietgraph"
    kept = [
        path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    missing = [
        path for path in kept if not (site / "quietgraph" / path.relative_to(source)).exists()
    ]
    assert missing == []


def test_the_installed_package_is_not_the_repository(site: Path, tmp_path: Path) -> None:
    ask = "python -c 'import quietgraph; print(quietgraph.__file__)'"
    (place,) = run(ask, tmp_path, [Path(sys.executable).parent], PYTHONPATH=str(site))
    assert Path(place).is_relative_to(site)


def test_every_command_of_the_first_page_works_from_the_wheel(site: Path, tmp_path: Path) -> None:
    page = [pair for pair in commands(PAGE) if not pair[0].startswith(INSTALLED)]
    assert [words for words, _ in page if words.startswith("quietgraph fit")]
    if shutil.which("jupyter", path=str(Path(sys.executable).parent)) is None:
        page = [pair for pair in page if "jupyter" not in pair[0]]
    paths = [site / "bin", Path(sys.executable).parent]
    follow(page, tmp_path, paths, PYTHONPATH=str(site))


@pytest.mark.slow
def test_a_stranger_gets_there_from_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    """Install everything as the page says; where the CPU index cannot be reached, pip's own."""
    page = []
    for command, shown in commands(PAGE):
        if command.startswith(". "):
            continue  # the environment is first in PATH below
        if command.startswith(CPU_BUILD):
            pinned = f"pip install -c {ROOT / 'constraints.txt'} torch"
            page.append((f"{command} || {pinned}", shown))
        else:
            page.append((command.replace("install quietgraph", f"install {wheel}"), shown))
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    python = shutil.which(f"python{version}", path=str(Path(sys.base_prefix) / "bin"))
    page[0] = (page[0][0].replace("python", str(python), 1), page[0][1])
    follow(page, tmp_path, [tmp_path / "quiet" / "bin"])
