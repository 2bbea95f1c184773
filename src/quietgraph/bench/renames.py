"""Keys of stored runs under the current names of their method's parameters."""

import json
from dataclasses import replace

from quietgraph.bench.record import RunKey, canonical_json
from quietgraph.errors import UnknownNameError
from quietgraph.methods import get_method
from quietgraph.params import current_names


def current_key(key: RunKey) -> RunKey:
    """Return the key that the same run has today; the key itself where the method is unknown."""
    try:
        method = get_method(key.method.partition(":")[0])
    except UnknownNameError:
        return key
    values = current_names(method, json.loads(key.parameters), warn=False)
    variant = current_variant(key.method, warn=False)
    return replace(key, method=variant, parameters=canonical_json(values))


def current_variant(variant: str, *, warn: bool = True) -> str:
    """Return a method variant (`name:key=value`) with the current names of its parameters."""
    name, *assignments = variant.split(":")
    given = {text.partition("=")[0]: text for text in assignments}
    if not given:
        return variant
    renamed = current_names(get_method(name), given, warn=warn)
    texts = (text.replace(text.partition("=")[0], now, 1) for now, text in renamed.items())
    return ":".join([name, *texts])
