"""Fifty reviewers at once: what was acknowledged is there, under the right name, once."""

import threading
import time
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra [review] is not installed")

from quietgraph.review.access import Allowance
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run
from quietgraph.review.server import Review
from review.test_server import Client, served

REVIEWERS = 50
CHOICES = ("accept", "keep", "drop", "unsure")


def decide(client: Client, name: str, until: float, least: int, acknowledged: Counter) -> None:
    """Decide on one node after the other, each reviewer in an order of their own."""
    nodes = list(client.review.run.suspects)
    place = hash(name) % len(nodes)
    while least > 0 or time.monotonic() < until:
        node, choice = nodes[place % len(nodes)], CHOICES[place % len(CHOICES)]
        told = {"node": node, "reviewer": name, "choice": choice}
        place, least = place + 1, least - 1
        try:
            answer = client.ask("POST", "/decisions", told)
        except OSError:  # on a busy machine nobody told the reviewer, so it may be there or not
            acknowledged["in doubt", node, choice] += 1
            continue
        if answer.status == 201:
            acknowledged[name, node, choice] += 1
        else:
            assert answer.status == 429, answer.text  # asked to wait, and says so
            time.sleep(0.05)


def check_reviewers(folder: Path, seconds: float, least: int) -> int:
    store = DecisionStore(folder / "decisions.sqlite")
    review = Review(open_run(folder), store, "127.0.0.1", known=Allowance(10_000, 10_000))
    counts = [Counter() for _ in range(REVIEWERS)]
    with served(review) as client:
        client.enter()
        until = time.monotonic() + seconds
        threads = [
            threading.Thread(target=decide, args=(client, f"R{place}", until, least, one))
            for place, one in enumerate(counts)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    saved = Counter((one.reviewer, one.node, one.choice) for one in store.after())
    expected = sum(counts, Counter())
    in_doubt = sum(number for (name, *_), number in expected.items() if name == "in doubt")
    told = Counter({one: number for one, number in expected.items() if one[0] != "in doubt"})
    assert told <= saved
    assert saved.total() - told.total() <= in_doubt
    return told.total()


def test_fifty_reviewers_lose_and_mix_nothing(folder: Path) -> None:
    assert check_reviewers(folder, 0, 2) == 2 * REVIEWERS


@pytest.mark.slow
def test_fifty_reviewers_for_a_minute(folder: Path) -> None:
    assert check_reviewers(folder, 60, 1) > 1_000
