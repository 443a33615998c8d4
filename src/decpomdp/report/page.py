"""The page: one file with everything in it, which opens without a server or a network.

Of one run: facts, learning curves, controllers, how sure they are, a replay. Of several: a table and their curves
laid over each other. A content security policy allows our own script alone, by its digest: should a label ever get
past the escaping, it still cannot run.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from decpomdp import domains
from decpomdp.io.files import write_bytes
from decpomdp.io.runs import REPORT
from decpomdp.report.controllers import belief, controllers
from decpomdp.report.curves import Source, curves
from decpomdp.report.facts import facts, log, odd, settings
from decpomdp.report.listing import COLUMNS, LEGEND, cells, unsupported
from decpomdp.report.markup import Markup, data, tag, trusted
from decpomdp.report.performance import Performance, performance_of
from decpomdp.report.replay_panel import panel
from decpomdp.report.sources import Shown

FEW = 4  # runs whose controllers are unfolded
MOST_COMPARED = 8  # runs whose curves can be told apart
READING = "Boxes are nodes: what they do, their number and their share of the time. Arrows: on what they move where. "


def write_page(runs: Sequence[Shown], path: Path | None = None) -> Path:
    """Write the page of one run or of several; by default into the (first) run's own folder."""
    target = path or runs[0].run.folder / REPORT
    write_bytes(target, page(runs).encode(errors="backslashreplace"))  # names may be bytes that are no text
    return target


def page(runs: Sequence[Shown]) -> str:
    """The whole file."""
    if len(runs) == 1:
        title, body = _title(runs[0]), _one(runs[0])
    else:
        title, body = f"{len(runs)} runs compared", _several(runs)
    style, script = _own("page.css"), _own("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} \u2013 decpomdp"),
        tag("style", trusted(style)),
    )
    theme = tag("button", "Light / dark", type="button", id="theme")
    top = tag("header", tag("h1", title), tag("p", _under(runs)), theme)
    end = tag("script", trusted(script))
    return "<!doctype html>\n" + tag("html", head, tag("body", tag("main", top, *body), end), lang="en") + "\n"


def _own(name: str) -> str:
    return files("decpomdp.report").joinpath(name).read_text(encoding="utf-8")


def _title(shown: Shown) -> str:
    return shown.run.record.problem or shown.run.team.problem or shown.run.name


def _under(runs: Sequence[Shown]) -> str:
    if len(runs) > 1:
        return ", ".join(dict.fromkeys(_title(shown) for shown in runs))
    record = runs[0].run.record
    agents = len(runs[0].run.team.agents)
    way = f"method {record.method}" if record.method else f"learned from {record.source}"
    told = domains.note(record.source)  # of a built-in problem: what its labels do not say
    return f"{agents} agent{'s' if agents > 1 else ''}, {way}; run {runs[0].run.name}" + (f"; {told}" if told else "")


def _section(key: str, title: str, *content: object) -> Markup:
    return tag("section", tag("h2", title), *content, id=key)


def _one(shown: Shown) -> list[Markup]:
    run, record = shown.run, shown.run.record
    drawn = curves([Source("", run.trace, tuple(agent.name for agent in run.team.agents))])
    performance = performance_of(shown)
    sure = None if record.posterior is None else belief(run.team, record.posterior)
    return [
        facts(shown.run.record),
        _section(
            "controllers", "Controllers", controllers(run.team, performance.uses, READING + performance.source, "run")
        ),
        _replay(shown, performance),
        _section("curves", "Learning curves", drawn or tag("p", "The trace has nothing to draw.", class_="note")),
        *([] if sure is None else [_section("posterior", "How sure is the learner?", sure)]),
        _section("details", "Details", settings(record), log(run.folder)),
    ]


def _several(runs: Sequence[Shown]) -> list[Markup]:
    head = tag("tr", *(tag("th", words, scope="col") for words in COLUMNS))
    rows = [
        tag("tr", *(tag("td", cell, class_=odd(cell)) for cell in cells(shown.run.record, shown.run.folder)))
        for shown in runs
    ]
    table = tag("div", tag("table", tag("thead", head), tag("tbody", *rows), class_="runs"), class_="wide")
    legend = (
        tag("p", f"{LEGEND}; not drawn below", class_="note")
        if any(unsupported(shown.run.record) for shown in runs)
        else None
    )
    names = _names(runs)
    sources = [
        Source(name, _relied_on(shown), tuple(agent.name for agent in shown.run.team.agents))
        for name, shown in zip(names, runs[:MOST_COMPARED], strict=False)
    ]
    drawn = curves(sources)
    note = tag("p", f"Curves of the first {MOST_COMPARED} runs.", class_="note") if len(runs) > MOST_COMPARED else None
    each = []
    for place, (name, shown) in enumerate(zip(names, runs, strict=True)):
        performance = performance_of(shown, replayed=False)
        inside = controllers(shown.run.team, performance.uses, READING + performance.source, f"run{place}")
        each.append(
            tag("details", tag("summary", f"{name}: {_title(shown)}"), inside, class_="run", open=len(runs) <= FEW)
        )
    missing = tag("p", "These traces have no common columns to draw.", class_="note")
    return [
        _section("runs", "Runs", table, legend),
        _section("curves", "Learning curves", note, drawn or missing),
        _section("controllers", "Controllers", *each),
    ]


def _relied_on(shown: Shown) -> Mapping[str, Sequence[Any]]:
    """The trace, without values that would drown those of the other runs and mean nothing."""
    trace = shown.run.trace
    if not unsupported(shown.run.record) or "value" not in trace:
        return trace
    return {**trace, "value": [None] * len(trace["value"])}


def _names(runs: Sequence[Shown]) -> list[str]:
    """The folders' names; with their parents where two are the same."""
    short = [shown.run.name for shown in runs]
    return [name if short.count(name) == 1 else str(shown.run.folder) for name, shown in zip(short, runs, strict=True)]


def _replay(shown: Shown, performance: Performance) -> Markup:
    if performance.replay is None:
        return _section("replay", "Replay", tag("p", f"Nothing to replay: {shown.missing}.", class_="note"))
    note, replay = tag("p", performance.note, class_="note"), performance.replay
    return _section("replay", "Replay", note, panel(shown.run.team, "run", replay), data("replay-data", replay.told))
