"""A fit on a table as people have them: semicolons, a byte order mark, and names that try to break out of a page."""

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import quietgraph as qg
from quietgraph.assessment.assess import Assessment
from quietgraph.graph.synthetic import block_model
from quietgraph.report.folder import write_run

CLASSES = ("</script>", "big; red", "snö\u2028☃")
AWKWARD = ("</script><script>alert(1)</script>", 'a "quoted" id', "semi;colon", "it's <b>&amp;</b>")
NODES, LABELLED = 120, 90


class Fitted(NamedTuple):
    """A model and what its labels are worth."""

    model: Any
    assessment: Assessment

    def write(self, folder: Path, **options: Any) -> Path:
        """Write the run of it; return its folder."""
        write_run(folder, model=self.model, assessment=self.assessment, **{"options": {"method": "gcn"}, **options})
        return folder


def own_tables(folder: Path) -> Path:
    """Write a folder of tables in which a fifth of 90 labels is wrong; return it."""
    problem = block_model(NODES, num_classes=3, homophily=0.9, signal=2.0, generator=np.random.default_rng(0))
    labels = problem.classes.copy()
    labels[:LABELLED:5] = (labels[:LABELLED:5] + 1) % 3
    ids = [f"{AWKWARD[place % 4]} {place}" for place in range(NODES)]
    columns = problem.graph.features.numpy()[:, :3]

    def quoted(text: str) -> str:
        return '"' + text.replace('"', '""') + '"'

    lines = ["id;name;a;b;c;label"]
    for place in range(NODES):
        numbers = ";".join(f"{value:.4f}".replace(".", ",") for value in columns[place])
        label = quoted(CLASSES[labels[place]]) if place < LABELLED else ""
        lines.append(f"{quoted(ids[place])};  Some name {place};{numbers};{label}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n")
    pairs = [f"{quoted(ids[a])};{quoted(ids[b])}" for a, b in problem.graph.edge_index.T.tolist()]
    (folder / "edges.csv").write_text("source;target\n" + "\n".join(pairs), encoding="utf-8")
    return folder


def fit(source: Any, **options: Any) -> Fitted:
    """Return a small fit on a source."""
    model = qg.GCN(epochs=30, hidden=16, seed=0).fit(qg.load(source, **options))
    return Fitted(model, qg.assess(model))


@cache
def fit_once(folder: Path) -> Fitted:
    """Return the fit on the tables, which are written to a folder."""
    return fit(own_tables(folder))
