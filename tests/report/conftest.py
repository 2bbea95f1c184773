from pathlib import Path

import pytest

from report.problem import Fitted, fit_once


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "tables"


@pytest.fixture(scope="session")
def fitted(tables: Path) -> Fitted:
    return fit_once(tables)
