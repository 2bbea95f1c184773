"""Keys of stored runs under the current names of their method's parameters."""

import json
from dataclasses import replace

from quietgraph.bench.record import RunKey, canonical_json
from quietgraph.bench.variant import join_variant, split_variant
from quietgraph.errors import UnknownNameError
from quietgraph.methods import get_method
from quietgraph.params import current_names


def current_key(key: RunKey) -> RunKey:
    """Return the key that the same run has today; the key itself where the method is unknown."""
    name, assignments = split_variant(key.method)
    try:
        method = get_method(name)
    except UnknownNameError:
        return key
    values = current_names(method, json.loads(key.parameters), warn=False)
    variant = join_variant(name, current_names(method, assignments, warn=False))
    return replace(key, method=variant, parameters=canonical_json(values))
