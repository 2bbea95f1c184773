"""A hook of the docs site: the parameters of every method, from the registry.

`mkdocs.yml` names it. It writes below `<!-- parameters -->` what `quietgraph methods NAME` prints.
"""

from typing import Any

from quietgraph.methods.registry import METHODS, get_method
from quietgraph.params import parameters

MARK = "<!-- parameters -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return the page with the tables in the place of the mark."""
    if MARK not in markdown:
        return markdown
    return markdown.replace(MARK, "\n\n".join(map(describe, METHODS)))


def describe(name: str) -> str:
    """Return the section of a method: class, summary, source, parameters."""
    method = get_method(name)
    summary = (method.__doc__ or "").strip().splitlines()[0]
    lines = [f"## `{name}`", "", f"`qg.{method.__name__}`: {summary}", "", method.citation, ""]
    lines += ["| parameter | type | default | meaning |", "| --- | --- | --- | --- |"]
    for one in parameters(method).values():
        kind = one.kind_name.replace("|", "\\|")
        lines.append(f"| `{one.name}` | {kind} | `{one.default}` | {one.rule.help} |")
    return "\n".join(lines)
