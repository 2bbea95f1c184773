"""How far labels and predictions of a fitted model can be trusted, read from outside."""

import sys
from types import ModuleType
from typing import Any


class _Assess(ModuleType):
    """This package, callable: importing it makes `quietgraph.assess` name the package, which is to be the function."""

    def __call__(self, *model: Any, **options: Any) -> Any:
        from quietgraph.assess.assess import assess

        return assess(*model, **options)


sys.modules[__name__].__class__ = _Assess
