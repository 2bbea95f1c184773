"""Steps of the ablation: encoders and draws are averaged separately, graphs kept apart."""

import sys
from itertools import product

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import ablation

COLUMNS = ["dataset", "set", "step", "encoder", "noise", "draw", "accuracy"]


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two encoders and two draws; on Cora the last step gains 1 and 3 points, elsewhere none."""
    found = []
    for graph, encoder, draw in product(("cora", "citeseer"), (0, 1), (5, 6)):
        before = 0.70 + 0.02 * (draw - 5)
        gain = 0.01 + 0.02 * encoder if graph == "cora" else 0.0
        for step, value in (("contrast only", before), ("+ last", before + gain)):
            found.append((graph, "", step, encoder, "symmetric:0.4", draw, value))
    frame = pd.DataFrame(found, columns=COLUMNS)
    monkeypatch.setattr(ablation, "table", lambda _: frame)


def test_the_gain_of_a_step_is_averaged_over_encoders() -> None:
    assert ablation.step_gain("+ last") == "+2.00 ± 1.00 and +0.00 ± 0.00"
    assert ablation.step_means("+ last") == "73.00 / 71.00"
    assert ablation.chain_gain("symmetric:0.4") == "+2.0 on Cora and +0.0 on CiteSeer"


def test_a_cell_has_the_standard_error_over_draws() -> None:
    lines = ablation.ablation_table("cora").splitlines()
    assert lines[0] == "| step | symmetric 40 % | mean | gain of the step |"
    assert lines[2:4] == [
        "| contrast only | 71.0 ± 1.0 | 71.00 |  |",
        "| + last | 73.0 ± 1.0 | 73.00 | +2.00 ± 1.00 |",
    ]
    assert lines[-1] == "Cora, in percent; 2 encoders, 2 draws from 5 on."
