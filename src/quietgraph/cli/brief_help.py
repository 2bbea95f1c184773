"""Help that fits a terminal of 80 x 24, and `--help-all` for the rest."""

import textwrap
from collections.abc import Iterator
from typing import Annotated, Any, Final, TypeAlias

import typer
from typer.core import TyperCommand

from quietgraph.cli.options import FLAG

_ALL: Final = "quietgraph.help_all"  # in the context: the long help is wanted
_WIDTH: Final = 79
_NAMES_WIDTH: Final = 20
_TITLE_WIDTH: Final = 18  # of a group of options


class BriefHelp(TyperCommand):
    """A command whose `--help` names the options of groups, and explains only the others."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short help, or with `--help-all` the long one."""
        if ctx.meta.get(_ALL):
            super().format_help(ctx, formatter)
        else:
            formatter.write("\n".join(self._lines(ctx)))

    def _lines(self, ctx: Any) -> Iterator[str]:
        shown = [one for one in self.get_params(ctx) if not getattr(one, "hidden", False)]
        groups: dict[str | None, list[Any]] = {}
        for one in shown:
            groups.setdefault(getattr(one, "rich_help_panel", None), []).append(one)
        yield f"Usage: {ctx.command_path} {' '.join(self.collect_usage_pieces(ctx))}"
        yield f"{self.help}\n"
        for one in groups.pop(None):
            words = (one.help or "").replace("\\[", "[")
            yield f"  {_bold(_name(one), _NAMES_WIDTH)} {words}"
        yield ""
        for title, options in groups.items():
            named = textwrap.wrap(" ".join(one.opts[0] for one in options), _WIDTH - _TITLE_WIDTH)
            for number, line in enumerate(named):
                yield f"{'' if number else title:{_TITLE_WIDTH}}{_bold(line)}"
        yield f"\n{self.epilog}"


def _name(param: Any) -> str:
    if param.param_type_name == "argument":
        return str(param.metavar)
    return " ".join(filter(None, (param.opts[0], param.metavar)))


def _bold(text: str, width: int = 0) -> str:
    return typer.style(text, fg="cyan", bold=True) + " " * (width - len(text))


def _explain_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted:
        ctx.meta[_ALL] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


HelpAllOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--help-all",
        callback=_explain_all,
        is_eager=True,
        expose_value=False,
        help="Explain every option.",
        metavar=FLAG,
    ),
]
