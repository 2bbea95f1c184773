"""A run folder as `fit` writes it, made by hand."""

import json
from pathlib import Path

import pytest

CLASSES = ["cat", "dog", "cow"]


def write_folder(folder: Path, *, nodes: int = 60) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    ids = ["=odd", "semi;colon", *(f"n{place}" for place in range(2, nodes))]
    facts = {"command": "quietgraph fit pets --out runs/a", "data": {"class_names": CLASSES}}
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "report.html").write_text("<html>the report</html>")
    rows = [f"{(node[0] == '=' and chr(39)) or ''}{node},cat,dog,0.5,True" for node in ids]
    text = "\n".join(["node,given,suggested,score,is_issue", *rows])
    (folder / "suspects.csv").write_text(text + "\n")
    lines = [json.dumps({"node": node, "columns": [["title", node]]}) for node in ids]
    (folder / "evidence.jsonl").write_text("\n".join(lines))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "run")
