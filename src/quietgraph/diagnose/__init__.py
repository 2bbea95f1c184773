"""How low-frequency, how complex, how trustworthy an embedding is."""

import sys
from types import ModuleType
from typing import Any


class _Diagnose(ModuleType):
    """This package, callable: importing it makes `quietgraph.diagnose` name the package, not the function."""

    def __call__(self, *model: Any, **options: Any) -> Any:
        from quietgraph.diagnose.summary import diagnose

        return diagnose(*model, **options)


sys.modules[__name__].__class__ = _Diagnose
