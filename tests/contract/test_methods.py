"""Every registered method keeps the contract."""

import pytest

from quietgraph.methods import METHODS, get_method
from quietgraph.testing import CHECKS


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_method_keeps_the_contract(name: str, check) -> None:
    check(get_method(name))
