import os
import signal
import time
from pathlib import Path

import pandas as pd
import pytest
from starlette.testclient import TestClient

from quietgraph.data.decisions import read_decisions
from quietgraph.errors import InvalidParameterError, QuietgraphError
from quietgraph.report.folder import RUN_FILE, SUSPECTS_FILE
from quietgraph.report.run import Facts
from quietgraph.review.decisions import ReviewedRun, export_decisions, open_run
from quietgraph.review.server import review_app, serve_review

TOKEN = "a-long-secret"
IDS = ('a "quoted"; id', "7", "<b>", "d", "e", "f")


@pytest.fixture
def run(tmp_path: Path) -> ReviewedRun:
    """Return a run folder as a fit leaves it, as far as a review reads it."""
    folder = tmp_path / "run"
    folder.mkdir()
    assessment = {"classes": ["x", "y", "z"], "verdict": {"level": "trust"}}
    facts = Facts(version="0", options={"source": "../shop", "own": True}, method={}, data={}, assessment=assessment)
    (folder / RUN_FILE).write_text(facts.model_dump_json())
    (folder / "report.html").write_text("<p>the page")
    columns = {
        "id": IDS,
        "given": "x",
        "suggested": ["y", "y", "z", "y", "x", "x"],
        "p_wrong": [0.9, 0.8, 0.7, 0.6, 0.3, 0.1],
    }
    table = pd.DataFrame(columns).assign(is_suspect=[True] * 4 + [False] * 2, decision="", price=3)
    table.to_csv(folder / SUSPECTS_FILE, index=False)
    return open_run(folder)


@pytest.fixture
def client(run: ReviewedRun) -> TestClient:
    """Return a browser that came by the link."""
    found = TestClient(review_app(run, token=TOKEN, reviewer="Ann"), base_url="http://127.0.0.1:8470")
    assert found.get(f"/?token={TOKEN}").text == "<p>the page"
    found.headers["Origin"] = "http://127.0.0.1:8470"
    return found


def sent(node: str = "7", decision: str = "accept", label: str = "", by: str = "Ann") -> dict[str, str]:
    return {"node": node, "decision": decision, "label": label, "by": by}


def test_the_link_lets_in_and_nothing_else_does(run: ReviewedRun) -> None:
    stranger = TestClient(review_app(run, token=TOKEN), base_url="http://127.0.0.1:8470", follow_redirects=False)
    for path in ("/", "/decisions", "/verified.csv", "/review.json", "/outlook", "/?token=wrong"):
        assert stranger.get(path).status_code == 403
    answer = stranger.get(f"/?token={TOKEN}")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert TOKEN not in cookie
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert stranger.get("/").text == "<p>the page"


def test_other_hosts_other_pages_and_large_bodies_are_refused(client: TestClient) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.post("/decisions", json=sent(), headers={"Origin": "http://evil.example"}).status_code == 403
    form = {"Content-Type": "text/plain"}
    assert client.post("/decisions", content="{}", headers=form).status_code == 403
    assert client.post("/decisions", json=sent(node="x" * 30_000)).status_code == 413
    assert client.get("/decisions").json() == []


@pytest.mark.parametrize(
    "wrong",
    [
        sent(node="nobody"),
        sent(decision="perhaps"),
        sent(decision="other", label="w"),
        sent(by=" "),
        sent(by="A\u202e"),
        {"node": "7"},
        [1],
        {**sent(), "label": 3},
    ],
)
def test_what_is_no_decision_is_refused_in_a_sentence(client: TestClient, wrong: object) -> None:
    answer = client.post("/decisions", json=wrong)
    assert answer.status_code == 400
    assert answer.text.endswith(".") or "Available" in answer.text
    assert client.get("/decisions?after=x").status_code == 400


def test_reviewers_see_each_other_and_the_last_decision_counts(client: TestClient, run: ReviewedRun) -> None:
    for one in (sent(), sent(by="Bo", decision="other", label="z"), sent(decision="keep"), sent(node=IDS[0])):
        assert client.post("/decisions", json=one).status_code == 201
    heard = client.get("/decisions?after=1").json()
    assert [(one["number"], one["by"], one["label"]) for one in heard] == [
        (2, "Bo", "z"),
        (3, "Ann", "x"),
        (4, "Ann", "y"),
    ]
    client.post("/decisions", json=sent(by="Bo", decision=""))
    held = read_decisions(run.folder).by_node
    assert {node: (one.decision, one.label, one.given) for node, one in held.items()} == {
        "7": ("keep", "x", "x"),
        IDS[0]: ("accept", "y", "x"),
    }


def test_a_conflict_decides_nothing_by_export_and_by_run(client: TestClient, run: ReviewedRun, tmp_path: Path) -> None:
    for one in (sent(), sent(by="Bo", decision="keep"), sent(node="d"), sent(node="d", by="Bo", decision="unsure")):
        client.post("/decisions", json=one)
    text, counts = export_decisions(run.folder)
    assert dict(counts) == {"conflict": 1, "accept": 1}
    assert client.get("/verified.csv").text == text
    (tmp_path / "verified.csv").write_text(text)
    by_file, by_run = read_decisions(tmp_path / "verified.csv"), read_decisions(run.folder)
    assert by_file.by_node == by_run.by_node
    assert {*by_run.by_node} == {"d"}


def test_earlier_decisions_are_exported_too(client: TestClient, run: ReviewedRun) -> None:
    assert export_decisions(run.folder)[0].count("\n") == 1
    (run.folder / "verified.csv").write_text("node,decision,label,by,when,given\n7,keep,x,Bo,,x\nold,keep,z,Bo,,z\n")
    client.post("/decisions", json=sent())
    text, counts = export_decisions(run.folder)
    assert "old,keep,z" in text
    assert "7,accept,y,Ann" in text
    assert dict(counts) == {"accept": 1}


def test_the_outlook_says_what_more_reviewing_would_buy(client: TestClient, run: ReviewedRun) -> None:
    client.post("/decisions", json=sent(node=IDS[0]))
    client.post("/decisions", json=sent(decision="keep"))
    assert client.get("/outlook").text == (
        "You decided on 2 of 6 labels and changed 1; 2 were expected to be wrong. "
        "Of the 2 flagged ones that are left about 1 are wrong, of the 2 others about 0."
    )
    command = client.get("/review.json").json()["next"]
    assert command.startswith("quietgraph fit ")
    assert command.endswith(f"--verified {run.folder}")


def test_a_folder_that_cannot_be_written_is_not_a_decision_lost_in_silence(
    client: TestClient, run: ReviewedRun
) -> None:
    run.path.mkdir()
    answer = client.post("/decisions", json=sent())
    assert answer.status_code == 503
    assert "cannot be written" in answer.text


def test_no_decision_that_was_answered_is_lost_by_a_kill(run: ReviewedRun) -> None:
    for turn in range(4):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            while True:
                run.decide("7", "keep", "", f"{turn}")
                os.write(writing, b".")
        time.sleep(0.05 + 0.03 * turn)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(writing)
        with os.fdopen(reading, "rb") as pipe:
            answered = len(pipe.read())
        kept = sum(one.by == f"{turn}" for _, one in run.after())
        assert answered <= kept <= answered + 1
    assert answered > 0


def test_mistakes_are_said_before_anything_is_served(run: ReviewedRun, tmp_path: Path) -> None:
    with pytest.raises(QuietgraphError, match="no run folder"):
        open_run(tmp_path)
    with pytest.raises(QuietgraphError, match="cannot listen"):
        serve_review(run.folder, port=0, host="203.0.113.7", browser=False)
    with pytest.raises(InvalidParameterError, match="name"):
        serve_review(run.folder, reviewer="x" * 90)
    (run.folder / SUSPECTS_FILE).write_text("id;given\n")
    with pytest.raises(QuietgraphError, match="not what the fit wrote"):
        open_run(run.folder)
