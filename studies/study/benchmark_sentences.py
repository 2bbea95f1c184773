"""Figures of sentences on the page of the benchmark."""

from study.blocks import block
from study.records import runs, some
from study.words import span


@block
def seconds_with_embeddings(method: str, dataset: str) -> str:
    """Return the seconds of runs whose embeddings another run has left: the middle half."""
    frame = some(runs(f"paper-{dataset}"), method=method)
    label_noise = frame[~frame["noise"].str.startswith("attribute")]
    learned = label_noise.groupby("seed")["seconds"].transform("max") == label_noise["seconds"]
    later = label_noise[~learned]["seconds"]
    return f"{span([later.quantile(0.25), later.quantile(0.75)], 2)} s ({len(later)} runs)"
