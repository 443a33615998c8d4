"""The page and the posterior summary of a run that has just finished."""

from collections.abc import Sequence
from pathlib import Path

from decpomdp.core import Episodes, Fit
from decpomdp.io.runs import RunRecord, read_run, write_record
from decpomdp.report.page import write_page
from decpomdp.report.sources import Source, on


def write_report(folder: Path, fit: Fit, record: RunRecord, source: Source | Sequence[Episodes]) -> None:
    """Summarise the posterior in run.json, and write the page; `source` is what the run learned from."""
    posterior = getattr(fit, "posterior", None)  # only of Bayesian learners, whose modules are slow to import
    if isinstance(source, Sequence):
        source = source[0]
    if posterior is not None:
        from decpomdp.report.belief import belief_summary

        record.posterior = belief_summary(posterior, fit.team, source, record.seed or 0)
        write_record(folder, record)
    write_page([on(read_run(folder), source)])
