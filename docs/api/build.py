"""Build the documentation: the pages of `docs/` and a reference made from docstrings.

    python docs/api/build.py build/docs

Anything that pdoc warns of ends the build with exit code 1, and so does a link to nowhere.
"""

import pkgutil
import re
import shutil
import sys
import warnings
from html import unescape
from pathlib import Path

import markdown2
import pdoc
import pdoc.render
from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup

import quietgraph

HERE = Path(__file__).parent
DOCS = HERE.parent
LEFT_OUT = ("quietgraph.cli", "quietgraph.__main__")  # `quietgraph --help` is their reference
HARMLESS = (
    "The module specification .* has already been added",  # a package names its modules again
    "Error parsing type annotation .* is not subscriptable",  # generic in its stubs alone
)
EXTRAS = ["tables", "fenced-code-blocks", "header-ids", "strike", "cuddled-lists"]
FIRST = ("README", "own-data", "methods", "theory", "benchmark")  # of the menu; the others follow


def build(out: Path) -> list[str]:
    """Write the site and return what is wrong with it."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    troubles = build_reference(out / "api", modules())
    build_pages(out)
    return [*troubles, *dead_links(out)]


def build_reference(out: Path, names: list[str]) -> list[str]:
    """Write one page per module and return pdoc's warnings."""
    # The package imports its names when they are first used; pdoc looks only at what is there.
    vars(quietgraph).update({name: getattr(quietgraph, name) for name in quietgraph.__all__})
    footer = f"quietgraph {quietgraph.__version__}"
    pdoc.render.configure(docformat="google", footer_text=footer, show_source=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for harmless in HARMLESS:
            warnings.filterwarnings("ignore", message=harmless)
        pdoc.pdoc(*names, output_directory=out)
    ours = [str(one.message) for one in caught if "quietgraph" in str(one.message)]
    return [f"pdoc: {message}" for message in dict.fromkeys(ours)]


def modules() -> list[str]:
    """Return every module with something to look up."""
    found = pkgutil.walk_packages(quietgraph.__path__, "quietgraph.")
    names = ["quietgraph", *(one.name for one in found)]
    return [name for name in names if not name.startswith(LEFT_OUT)]


def build_pages(out: Path) -> None:
    """Write every markdown page as HTML, with a menu."""
    sources = {"README": DOCS.parent / "README.md"}
    sources |= {
        path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")
    }
    order = sorted(sources, key=lambda name: (name not in FIRST, "/" in name, name))
    titles = {name: _title(sources[name]) for name in order}
    template = Environment(
        loader=FileSystemLoader(HERE), autoescape=select_autoescape(["html"])
    ).get_template("page.html")
    for name, source in sources.items():
        text = source.read_text(encoding="utf-8")
        body = markdown2.markdown(_links(text, is_readme=name == "README"), extras=EXTRAS)
        target = out / f"{'index' if name == 'README' else name}.html"
        target.parent.mkdir(parents=True, exist_ok=True)
        page = template.render(
            title=titles[name],
            body=Markup(body),  # noqa: S704  (our own pages)
            menu=[("index" if one == "README" else one, titles[one]) for one in order],
            root="../" * name.count("/"),
            current="index" if name == "README" else name,
        )
        target.write_text(page, encoding="utf-8")
    shutil.copytree(DOCS / "images", out / "images")


def _title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ").strip()


def _links(text: str, *, is_readme: bool) -> str:
    """Return markdown whose links between pages lead to HTML pages."""
    if is_readme:
        text = re.sub(r"\]\(docs/adr/\)", "](adr/0001-products-by-embedding-bag.html)", text)
        text = text.replace("](docs/", "](")
    text = text.replace("](../README.md", "](index.html").replace("](../docs/", "](")
    return re.sub(r"(\]\([^)\s:]+)\.md(#[^)]*)?\)", r"\1.html\2)", text)


def dead_links(out: Path) -> list[str]:
    """Return the links between our own pages that lead nowhere."""
    troubles = []
    for page in (path for path in out.rglob("*.html") if "api" not in path.parts):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'(?:href|src)="([^"]+)"', text):
            target, _, anchor = unescape(link).partition("#")
            if ":" in target:
                continue
            found = (page.parent / target).resolve() if target else page
            if not found.exists():
                troubles.append(f"{page.relative_to(out)}: there is no {link}")
            elif anchor and found.suffix == ".html" and f'id="{anchor}"' not in found.read_text():
                troubles.append(f"{page.relative_to(out)}: there is no place {link}")
    return troubles


if __name__ == "__main__":
    found = build(Path(sys.argv[1] if len(sys.argv) > 1 else "build/docs"))
    for trouble in found:
        print(trouble, file=sys.stderr)  # noqa: T201
    sys.exit(1 if found else 0)
