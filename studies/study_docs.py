"""Write the figures of the docs anew from results/, or say which are not what results/ says.

python studies/study_docs.py                      # make study-docs
python studies/study_docs.py --check              # exit 1 where a page would change
python studies/study_docs.py --changed quiet WHY  # quiet answers otherwise from now on
python studies/study_docs.py --rounded quiet      # ... in the last digits of embeddings alone
"""

import argparse
import sys
from pathlib import Path

from study import (  # noqa: F401
    ablation,
    anchor,
    annotators,
    bars,
    benchmark_sentences,
    class_orders,
    estimates,
    findings,
    fresh,
    grid,
    in_short,
    letter,
    methods_page,
    methods_sentences,
    paper_page,
    quiet,
    quiet_beside,
    real_labels,
    record_page,
    review_gains,
    scale_sentences,
    theory_page,
    trust,
    trust_sentences,
)
from study.blocks import filled
from study.figures import changed_figures
from study.records import ROOT
from study.states import change_method, renew_answers

PAGES = (
    "README.md", "docs/results.md", "docs/findings.md", "docs/paper.md", "docs/quiet.md",
    "docs/model-card.md", "docs/records.md", "docs/annotators.md", "docs/tutorial-llm.md",
    "docs/trust.md", "docs/suspects.md", "docs/methods.md", "docs/ablation.md", "docs/benchmark.md",
    "docs/python.md", "docs/scale.md", "docs/speed.md", "docs/start.md", "docs/theory.md",
)  # fmt: skip


def changed_pages() -> dict[Path, str]:
    """Return the new text of every page whose blocks say something else than results/."""
    texts = {ROOT / name: (ROOT / name).read_text(encoding="utf-8") for name in PAGES}
    new = {path: filled(text, docs=inside(path)) for path, text in texts.items()}
    return {path: text for path, text in new.items() if text != texts[path]}


def inside(page: str | Path) -> str:
    """Return where docs/ lies from a page."""
    return "" if Path(page).parent.name == "docs" else "docs/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say what would change")
    parser.add_argument("--changed", nargs=2, metavar=("METHOD", "WHY"), help="its runs are old")
    parser.add_argument("--rounded", metavar="METHOD", help="same predictions: its runs stay")
    parser.add_argument("--since", metavar="TIME", help="of --changed, if not from now on")
    options = parser.parse_args()
    if options.changed:
        change_method(*options.changed, options.since)
    if options.rounded:
        renew_answers(options.rounded)
    changed = changed_pages() if options.check else {**changed_pages(), **changed_figures()}
    for path, text in changed.items():
        print(f"{'differs' if options.check else 'written'}: {path.relative_to(ROOT)}")
        if not options.check:
            path.write_text(text, encoding="utf-8")
    if options.check and changed:
        sys.exit(1)


if __name__ == "__main__":
    main()
