"""Stored runs seen from today: current names of parameters, and whether defaults have changed."""

import json
from dataclasses import replace
from functools import cache

from quietgraph.bench.protocol import Run
from quietgraph.bench.record import RunKey, canonical_json
from quietgraph.bench.variant import join_variant, split_variant
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods import get_method
from quietgraph.params import current_names


def current_key(key: RunKey) -> RunKey:
    """Return the key that the same run has today; the key itself where the method is unknown."""
    method, parameters = _renamed(key.method, key.parameters)
    return replace(key, method=method, parameters=parameters)


@cache  # files hold thousands of runs and few variants
def _renamed(variant: str, parameters: str) -> tuple[str, str]:
    name, assignments = split_variant(variant)
    try:
        method = get_method(name)
    except UnknownNameError:
        return variant, parameters
    values = current_names(method, json.loads(parameters), warn=False)
    written = join_variant(name, current_names(method, assignments, warn=False))
    return written, canonical_json(values)


@cache  # stores have thousands of runs and few variants
def has_current_parameters(dataset: str, method: str, parameters: str) -> bool:
    """Whether a variant would have these parameters (canonical JSON) if it were started now."""
    try:
        return Run.parse(dataset, method, "none", 0).key().parameters == parameters
    except (UnknownNameError, InvalidParameterError):  # a method or parameter that is gone
        return False
