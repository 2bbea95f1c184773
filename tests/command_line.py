"""Calls of the command line inside the process of a test."""

import re
import sys

import pytest
from typer.testing import CliRunner, Result

from quietgraph.cli.app import app, main
from quietgraph.errors import QuietgraphError


def call(*words: object) -> Result:
    """Return the outcome of a command; errors of ours are its exception."""
    return CliRunner().invoke(app, [*map(str, words)])


def printed(*words: object) -> str:
    """Return what a command that succeeds prints, without the spaces that align tables."""
    outcome = call(*words)
    assert outcome.exit_code == 0, outcome.exception or outcome.output
    return re.sub(" +", " ", outcome.stdout)


def refused(*words: object) -> QuietgraphError:
    """Return the error of ours that a command ends with."""
    error = call(*words).exception
    assert isinstance(error, QuietgraphError)
    return error


def run_main(*words: object) -> int:
    """Run a command as a user does and return its exit code."""
    before, sys.argv = sys.argv, ["quietgraph", *map(str, words)]
    try:
        with pytest.raises(SystemExit) as caught:
            main()
    finally:
        sys.argv = before
    return int(caught.value.code or 0)
