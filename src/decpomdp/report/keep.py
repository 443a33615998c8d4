"""What a command does when learning or planning is over: everything into the run folder, the page included."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from decpomdp.core import DecPOMDP, Episodes, Fit, Simulator, Team
from decpomdp.io.runs import read_run, source_digest, write_run
from decpomdp.report.page import write_page
from decpomdp.report.sources import on, recorded

DECIDED = "team-decided.json"


def prepare() -> None:
    """Load what writing a trace needs: nobody shall have to wait for that after an interrupt."""
    import pyarrow.parquet  # noqa: F401


def keep_fit(folder: Path, fit: Fit, facts: Mapping[str, Any]) -> None:
    """Write what was learned, at once: its value, the belief and the page take time and may be interrupted."""
    write_run(folder, fit, facts, _decided(fit))


def keep_run(folder: Path, fit: Fit, facts: Mapping[str, Any], source: DecPOMDP | Episodes | Simulator) -> None:
    """Write the run and its page; `source` is the problem that was played or the episodes that were read."""
    told, others = {"digest": source_digest(source), **facts}, _decided(fit)
    write_run(folder, fit, told, others)
    posterior = getattr(fit, "posterior", None)  # only Bayesian learners have one, and their room is slow to import
    if posterior is not None:
        from decpomdp.report.belief import belief_summary

        seen = source if isinstance(source, DecPOMDP | Episodes) else recorded(source, fit.team, facts["seed"])
        told["posterior"] = msgspec.to_builtins(belief_summary(posterior, fit.team, seen, facts["seed"]))
        write_run(folder, fit, told, others)
    write_page([on(read_run(folder), source)])


def _decided(fit: Fit) -> dict[str, Team]:
    team = getattr(fit, "decided", None)
    return {} if team is None else {DECIDED: team}
