"""The tutorial on own data: its commands run as printed and say what it shows.

After a change of what they say, `PYTHONPATH=tests python tests/docs/test_tutorial.py` runs the
tutorial and puts the new outputs into the page, to be read before they are committed.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from command_line import run_main
from pages import blocks, commands
from paths import ROOT

PAGE = ROOT / "docs" / "own-data.md"
SCRIPTS = {"make_shop.py": "draws = np.random", "review.py": "# review.py"}
ANYTHING = "..."  # stands for any lines
SECONDS = re.compile(r"│ \d+\.\d +(?=│)")  # a column of its own, one decimal
NUMBER = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?")


def write_scripts(text: str, folder: Path) -> None:
    for name, mark in SCRIPTS.items():
        (script,) = [block for block in blocks("python", text) if mark in block]
        (folder / name).write_text(script)


def run(command: str) -> list[str]:
    """Run a command where we are, ours within this process, and return the lines it says."""
    if not command.startswith("quietgraph "):
        line = re.sub(r"^python ", f"{shlex.quote(sys.executable)} ", command)
        done = subprocess.run(line, shell=True, check=True, capture_output=True, text=True)
        return (done.stdout + done.stderr).splitlines()
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        run_main(*shlex.split(command)[1:])
    return said.getvalue().splitlines()


def matches(shown: list[str], said: list[str]) -> bool:
    """Whether the page shows what was said: the same words, and numbers that are near.

    Seconds are not compared, nor are lines that the page leaves out. Other processors round
    otherwise, so that a label or two may be judged differently.
    """
    if ANYTHING in shown:
        cut = shown.index(ANYTHING)
        rest = len(shown) - cut - 1
        start, end = (shown[:cut], said[:cut]), (shown[cut + 1 :], said[len(said) - rest :])
        return matches(*start) and matches(*end)
    words = [
        [word for line in lines for word in re.split(r"[\s,]+", SECONDS.sub("", line)) if word]
        for lines in (shown, said)
    ]
    return len(words[0]) == len(words[1]) and all(map(is_near, *words))


def is_near(shown: str, said: str) -> bool:
    if shown == said:
        return True
    if not (NUMBER.fullmatch(shown) and NUMBER.fullmatch(said)):
        return False
    return abs(float(shown) - float(said)) <= (2 if shown.isdigit() else 0.1)


def test_the_commands_say_what_the_tutorial_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    write_scripts(text, tmp_path)
    listed = list(commands(text))
    assert len(listed) > 14
    for command, shown in listed:
        said = run(command)
        assert matches(shown, said), f"$ {command}\n" + "\n".join(said)


def test_the_comparison_sees_other_words_and_far_numbers() -> None:
    assert matches(["a", ANYTHING, "z 0.92 │ 3.1  │"], ["a", "b", "c", "z 0.91 │ 12.5 │"])
    assert not matches(["14 of 176"], ["20 of 176"])
    assert not matches(["look wrong"], ["look right"])


def renew(text: str) -> str:
    """Return the page with what its commands say now; outputs cut short stay so."""
    for command, shown in list(commands(text)):
        said = run(command)
        if ANYTHING in shown:
            said = [ANYTHING, *said[len(said) - (len(shown) - shown.index(ANYTHING) - 1) :]]
        old, new = ("\n".join([f"$ {command}", *lines]) + "\n" for lines in (shown, said))
        text = text.replace(old, new, 1)
    return text


if __name__ == "__main__":
    page = PAGE.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        write_scripts(page.read_text(encoding="utf-8"), Path(scratch))
        page.write_text(renew(page.read_text(encoding="utf-8")), encoding="utf-8")
