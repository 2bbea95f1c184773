"""What the report says of a node: its own columns as they are, long fractions shortened."""

import json
from pathlib import Path

import numpy as np

import quietgraph as qg
from quietgraph.report.evidence import Evidence


def test_numbers_with_long_fractions_are_shortened_and_other_cells_are_not(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text(
        "id,price,code,note,label\n"
        "a,2.544462374203177,0012.5000000,1.0 kg,x\n"
        "b,-0.15405705958282354,7,12.25,y\n"
    )
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    evidence = Evidence(qg.load(tmp_path), ["x", "y"], str(tmp_path))
    shown = [json.loads(line)["columns"] for line in evidence.describe(np.arange(2))]
    assert shown[0] == [["price", "2.54446"], ["code", "0012.5000000"], ["note", "1.0 kg"]]
    assert shown[1] == [["price", "-0.154057"], ["code", "7"], ["note", "12.25"]]
