"""The page and the posterior of a run, when learning or planning is finished."""

from collections.abc import Sequence
from pathlib import Path

from decpomdp.core import DecPOMDP, Episodes, Fit, Simulator
from decpomdp.io.runs import RunRecord, read_run, write_record
from decpomdp.report.page import write_page
from decpomdp.report.sources import on, recorded


def write_report(
    folder: Path, fit: Fit, record: RunRecord, source: DecPOMDP | Simulator | Episodes | Sequence[Episodes]
) -> None:
    """Summarise the posterior in run.json, and write the page; `source` is what the run learned from."""
    posterior = getattr(fit, "posterior", None)  # only of Bayesian learners, whose room is slow to import
    seed = record.seed or 0
    if isinstance(source, Sequence):
        source = source[0]
    if posterior is not None:
        from decpomdp.report.belief import belief_summary

        seen = source if isinstance(source, DecPOMDP | Episodes) else recorded(source, fit.team, seed)
        record.posterior = belief_summary(posterior, fit.team, seen, seed)
        write_record(folder, record)
    write_page([on(read_run(folder), source)])
