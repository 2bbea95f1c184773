"""Fields of a pydantic model as the options of a command: each option is declared once."""

import inspect
import types
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import typer
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError
from pydantic.fields import FieldInfo

from quietgraph.errors import InvalidParameterError

Extra: TypeAlias = dict[str, JsonValue]
ARGUMENT: Final[Extra] = {"argument": True}
OWN_TABLES: Final[Extra] = {"panel": "Own tables"}
LABELS: Final[Extra] = {"panel": "Labels of people"}
_METAVARS: Final = {bool: "", int: "N", int | None: "N", float | None: "X", Path: "PATH", Path | None: "PATH"}
_Options = TypeVar("_Options", bound="Options")


class Options(BaseModel):
    """The options of a command; also what run.json holds of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Output(Options):
    """An option that every command with results has."""

    json_: bool = Field(False, alias="json", description="Print one JSON object.")
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Reading(Output):
    """How own tables and files are read."""

    nodes: Path | None = Field(None, description="Table of nodes: CSV, Parquet, Excel.", json_schema_extra=OWN_TABLES)
    edges: Path | None = Field(None, description="Table of edges.", json_schema_extra=OWN_TABLES)
    column: dict[str, str] = Field(
        {},
        description="What a column is: label, id, weight, number, date, category, text, ignore.",
        json_schema_extra={**OWN_TABLES, "metavar": "NAME=KIND"},
    )
    missing: tuple[str, ...] = Field(
        (), description="A word that means unknown, such as ?", json_schema_extra=OWN_TABLES
    )
    drop_dangling: bool = Field(
        False, description="Leave out edges to ids that are no nodes.", json_schema_extra=OWN_TABLES
    )
    classes_max: int | None = Field(
        None, ge=2, description="Allow so many different labels.", json_schema_extra=OWN_TABLES
    )

    def given(self) -> dict[str, Any]:
        """Return the options that were set, as keyword arguments of `quietgraph.load`."""
        own = {"nodes": self.nodes, "edges": self.edges, "columns": self.column, "missing": self.missing}
        every = {**own, "drop_dangling": self.drop_dangling, "classes_max": self.classes_max}
        return {name: value for name, value in every.items() if value}


def command(
    app: typer.Typer, model: type[_Options], *, name: str | None = None, panel: str | None = None
) -> Callable[[Callable[[_Options], None]], Callable[[_Options], None]]:
    """Register a function of one options object as a command whose options are the fields of its model."""

    def decorate(function: Callable[[_Options], None]) -> Callable[[_Options], None]:
        def run(**values: Any) -> None:
            function(parse(model, values))

        fields = sorted(model.model_fields.items(), key=lambda one: one[0] in Output.model_fields)
        kinds = [_parameter(key, field) for key, field in fields]
        run.__signature__ = inspect.Signature(kinds)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in kinds}
        run.__doc__ = function.__doc__
        app.command(name or function.__name__.strip("_"), rich_help_panel=panel)(run)
        return function

    return decorate


def parse(model: type[_Options], values: dict[str, Any]) -> _Options:
    """Return the checked options; the first value that does not fit is one sentence."""
    for name, field in model.model_fields.items():
        if _is_mapping(field):
            values[name] = split_pairs(flag_of(name, field), values[name] or [])
    try:
        return model(**{(model.model_fields[key].alias or key): value for key, value in values.items()})
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidParameterError(
            f"--{str(first['loc'][0]).replace('_', '-')}: {first['msg']}, got {first['input']}."
        ) from error


def split_pairs(option: str, pairs: list[str]) -> dict[str, str]:
    """Return key=value texts as a dictionary; a key may hold "=", a value may not."""
    found = {}
    for pair in pairs:
        key, sign, value = pair.rpartition("=")
        if not sign or not key:
            raise InvalidParameterError(f"{option} takes key=value, got '{pair}'.")
        found[key] = value
    return found


def flag_of(name: str, field: FieldInfo) -> str:
    """Return how an option is typed."""
    return "--" + (field.alias or name).replace("_", "-")


def _parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    """Return the parameter of a function that typer makes the option from."""
    extra, kind = _extra(field), _plain(field)
    many = typing.get_origin(kind) is list
    usual = _METAVARS.get(kind if not many else typing.get_args(kind)[0], "TEXT")
    shown: dict[str, Any] = {"help": field.description, "metavar": extra.get("metavar", usual)}
    if extra.get("argument"):
        about: Any = typer.Argument(**shown, show_default=False)
    else:
        about = typer.Option(flag_of(name, field), **shown, rich_help_panel=extra.get("panel"), show_default=not many)
    default: Any = inspect.Parameter.empty if field.is_required() else field.get_default(call_default_factory=True)
    default = list(default) if many and not field.is_required() else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])


def _plain(field: FieldInfo) -> Any:
    """Return the type that typer reads: a list of texts for mappings and tuples."""
    if _is_mapping(field):
        return list[str]
    kind: Any = field.annotation
    if typing.get_origin(kind) is tuple:
        return list[typing.get_args(kind)[0]]  # type: ignore[misc]
    if isinstance(kind, types.UnionType) and type(None) in typing.get_args(kind):
        first = next(one for one in typing.get_args(kind) if one is not type(None))
        return first | None
    return kind


def _is_mapping(field: FieldInfo) -> bool:
    return typing.get_origin(field.annotation) is dict


def _extra(field: FieldInfo) -> dict[str, Any]:
    return field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
