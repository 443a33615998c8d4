"""What a command does when learning or planning is over: everything into the run folder, the page included."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from decpomdp.core import DecPOMDP, Episodes, Fit, Team
from decpomdp.io.runs import read_run, write_run
from decpomdp.report.page import write_page
from decpomdp.report.sources import Shown

DECIDED = "team-decided.json"


def keep_fit(folder: Path, fit: Fit, facts: Mapping[str, Any]) -> None:
    """Write what was learned, at once: its value, the belief and the page take time and may be interrupted."""
    write_run(folder, fit, facts, _decided(fit))


def keep_run(folder: Path, fit: Fit, facts: Mapping[str, Any], source: DecPOMDP | Episodes) -> None:
    """Write the run and its page; `source` is the model that was played or the episodes that were read."""
    told, others = dict(facts), _decided(fit)
    write_run(folder, fit, told, others)
    posterior = getattr(fit, "posterior", None)  # only Bayesian learners have one, and their room is slow to import
    if posterior is not None:
        from decpomdp.report.belief import belief_summary

        told["posterior"] = msgspec.to_builtins(belief_summary(posterior, fit.team, source, facts["seed"]))
        write_run(folder, fit, told, others)
    model, episodes = (source, None) if isinstance(source, DecPOMDP) else (None, source)
    write_page([Shown(read_run(folder), model, episodes)])


def _decided(fit: Fit) -> dict[str, Team]:
    team = getattr(fit, "decided", None)
    return {} if team is None else {DECIDED: team}
