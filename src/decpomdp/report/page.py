"""The page: one self-contained file that opens without a server or a network.

Of one run: facts, controllers, a replay, learning curves, the uncertainty of the learner, details. Of several: a table,
their curves in common charts, their controllers. A content security policy allows only the script of this package, by
its digest, so that a label could not run even without escaping.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from decpomdp.core import Episodes, Fit
from decpomdp.domains import registry
from decpomdp.io.files import write_bytes
from decpomdp.io.runs import LOG, REPORT, Belief, Run, RunRecord, as_written, columns_of, write_record
from decpomdp.report.controllers import controllers, reading
from decpomdp.report.curves import RunTrace, curves
from decpomdp.report.listing import COLUMNS, LEGEND, MANY, MARK, NO_NUMBER, NONE, cells, in_words, sizes_of, unsupported
from decpomdp.report.markup import Markup, note, own_file, table, tag, trusted
from decpomdp.report.performance import STORED, ShownRun, Source, on, packed
from decpomdp.report.replay import panel, replay_from

STYLES = ("page.css", "graph.css", "scene.css")
LOG_BYTES = 40_000  # of a log's end
FEW = 4  # runs whose controllers are unfolded
MOST_COMPARED = 8  # runs whose curves are drawn; the number of colours


def tiles(record: RunRecord) -> Markup:
    """The tiles at the top."""
    facts: list[tuple[str, str, str]] = [_value(record)]
    if record.best_known is not None and record.horizon is None:
        facts.append(("best known", f"{record.best_known:.5g}", "value of this problem, of any method"))
    if record.upper_bound is not None:
        facts.append(("upper bound", f"{record.upper_bound:.5g}", "of the value of any team"))
    many = len(record.nodes) > MANY
    mean = f"{sum(record.nodes) / len(record.nodes):.2f} on average, {len(record.nodes)} agents" if many else ""
    short = sizes_of(record.nodes).replace("+", " + ").replace("x", "\u00d7")
    facts.append(("nodes", short, mean or "one controller per agent"))
    facts.append(("time", in_words(record.seconds, ".3g") + " s", f"stopped: {record.stopped}"))
    if record.steps is not None:
        many, steps = record.steps >= 1e6, f"{record.steps:,.0f}"
        facts.append(
            ("played", f"{record.steps / 1e6:.2f}M" if many else steps, f"{steps if many else ''} joint steps")
        )
    if record.sample_size is not None:
        facts.append(("support", f"{record.sample_size:.1f}", "smallest effective sample size"))
    if record.seed is not None:
        facts.append(("seed", str(record.seed), "fixes every random choice"))
    if record.discount is not None:
        facts.append(("discount", f"{record.discount:g}", "per step"))
    boxes = [tag("div", tag("dt", a), tag("dd", tag("b", b, class_=odd(b)), tag("small", c))) for a, b, c in facts]
    return tag("dl", *boxes, class_="facts")


def _value(record: RunRecord) -> tuple[str, str, str]:
    """The value and how it was computed, marked where it is unreliable."""
    value = record.value
    if value is None:
        return "value", NONE, "not computed"
    how = f"\u00b1 {value.standard_error:.3g}, {value.method}" if value.standard_error else value.method
    if unsupported(record):
        return "value", f"{in_words(value.value, '.5g')} {MARK}", f"{how}; {LEGEND[len(MARK) :].strip()}"
    return "value", in_words(value.value, ".5g"), how


def odd(words: str) -> str | None:
    """The CSS class of texts that are not numbers and of unreliable numbers; None for others."""
    return "odd" if words in (NONE, NO_NUMBER) or words.endswith(MARK) or "infinite" in words else None


def settings(record: RunRecord) -> Markup:
    """Settings of the method, budget, versions."""
    rows = [*_flat(record.settings), *_flat(record.budget), *record.versions.items()]
    rows += [("problem digest", record.digest)] if record.digest else []
    lines = [(tag("th", name, scope="row"), tag("td", _cell(value))) for name, value in rows]
    return tag("details", tag("summary", "Settings and versions"), table((), lines, "settings"))


def _flat(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Nested settings (`tuning`) as one list of names and values."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        flat += _flat(value) if isinstance(value, Mapping) else [(key.replace("_", " "), value)]
    return flat


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    return in_words(value, ".10g") if isinstance(value, float) else str(value)


def log(folder: Path) -> Markup | None:
    """The end of the run's log, if there is one."""
    try:
        with open(folder / LOG, "rb") as file:
            file.seek(max(file.seek(0, 2) - LOG_BYTES, 0))
            lines = file.read(LOG_BYTES).decode(errors="replace")
    except OSError:
        return None
    return tag("details", tag("summary", "Log"), tag("pre", lines))


def save_report(folder: Path, record: RunRecord, summary: Belief | None, text: str, played: bytes | None) -> Path:
    """Write the summary of the posterior into run.json, the page, and the performance for later pages."""
    if summary is not None:
        record.posterior = summary
        write_record(folder, record)
    if played is not None:
        write_bytes(folder / STORED, played)
    return write_text(folder / REPORT, text)


def report_of(
    folder: Path, fit: Fit, record: RunRecord, source: Source | Sequence[Episodes] | None, missing: str = ""
) -> tuple[Belief | None, str, bytes | None]:
    """The summary of the posterior, the page and the packed performance of a run that has just finished.

    Without a source (`missing` says why) nothing is played.
    """
    posterior = getattr(fit, "posterior", None)  # only of Bayesian learners, whose modules are slow to import
    if isinstance(source, Sequence):
        source = source[0]
    summary = None
    if posterior is not None:
        from decpomdp.report.belief import belief_summary

        summary = belief_summary(posterior, fit.team, source, record.seed or 0)
    run = Run(folder, as_written(record, posterior=summary), fit.team, columns_of(fit.trace))
    shown = ShownRun(run, missing=missing) if source is None else on(run, source)
    return summary, page([shown]), packed(shown)


def write_page(runs: Sequence[ShownRun], path: Path | None = None) -> Path:
    """Write the page of one run or of several; by default into the (first) run's own folder."""
    return write_text(path or runs[0].run.folder / REPORT, page(runs))


def write_text(path: Path, text: str) -> Path:
    """Write a page; names may contain bytes that are not valid text."""
    write_bytes(path, text.encode(errors="backslashreplace"))
    return path


def page(runs: Sequence[ShownRun]) -> str:
    """The whole file."""
    if len(runs) == 1:
        title, body = _title(runs[0]), _one(runs[0])
    else:
        title, body = f"{len(runs)} runs compared", _several(runs)
    script = own_file("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    theme = tag("button", "Light / dark", type="button", id="theme")
    top = tag("header", tag("h1", title), tag("p", _subtitle(runs)), theme)
    return html_file(title, f"script-src 'sha256-{digest}'", "", tag("main", top, *body), tag("script", script))


def html_file(title: str, policy: str, style: str, *body: Markup) -> str:
    """A self-contained HTML file that may load only resources that `policy` allows."""
    content = f"default-src 'none'; style-src 'unsafe-inline'; {policy}"
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=content),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} \u2013 decpomdp"),
        tag("style", trusted("".join(map(own_file, STYLES)) + style)),
    )
    return "<!doctype html>\n" + tag("html", head, tag("body", *body), lang="en") + "\n"


def section(key: str, title: str, *content: object) -> Markup:
    """A part of a page, with its title."""
    return tag("section", tag("h2", title), *content, id=key)


def _title(shown: ShownRun) -> str:
    return shown.run.record.problem or shown.run.team.problem or shown.run.name


def _subtitle(runs: Sequence[ShownRun]) -> str:
    if len(runs) > 1:
        return ", ".join(dict.fromkeys(_title(shown) for shown in runs))
    record = runs[0].run.record
    agents = len(runs[0].run.team.agents)
    way = f"method {record.method}" if record.method else f"learned from {record.source}"
    note = registry.note(record.source)  # on the labels of a built-in problem
    return f"{agents} agent{'s' if agents > 1 else ''}, {way}; run {runs[0].run.name}" + (f"; {note}" if note else "")


def _one(shown: ShownRun) -> list[Markup]:
    run, record = shown.run, shown.run.record
    drawn = controllers(run.team, shown.performance.uses, "run")
    charts = curves([_run_trace("", shown)]) or note("The trace is too short for curves, or has no numbers.")
    parts = [
        tiles(record),
        *([] if record.learned else [note("Nothing was learned within the limits: this is the initial team.")]),
        *(note(str(record.facts[name])) for name in ("why", "trust") if name in record.facts),
        section("controllers", "Controllers", reading(shown.performance.source), drawn),
        _replay(shown),
        section("curves", "Learning curves", charts),
    ]
    if record.posterior is not None:
        from decpomdp.report.belief import belief

        parts.append(section("posterior", "Uncertainty of the learner", belief(run.team, record.posterior)))
    return [*parts, section("details", "Details", settings(record), log(run.folder))]


def _several(runs: Sequence[ShownRun]) -> list[Markup]:
    rows = [[tag("td", cell, class_=odd(cell)) for cell in cells(one.run.record, one.run.folder)] for one in runs]
    unreliable = note(f"{LEGEND}; not drawn below") if any(unsupported(one.run.record) for one in runs) else None
    names = _names(runs)
    charts = curves([_run_trace(name, one) for name, one in zip(names, runs[:MOST_COMPARED], strict=False)])
    first = note(f"Curves of the first {MOST_COMPARED} runs.") if len(runs) > MOST_COMPARED else None
    sources = [one.performance.source for one in runs]
    same = len(set(sources)) == 1  # then shown once
    each = []
    for place, (name, one) in enumerate(zip(names, runs, strict=True)):
        inside = controllers(one.run.team, one.performance.uses, f"run{place}")
        title = tag("summary", f"{name}: {_title(one)}")
        words = None if same else reading(one.performance.source)
        each.append(tag("details", title, words, inside, class_="run", open=len(runs) <= FEW))
    return [
        section("runs", "Runs", table(COLUMNS, rows, "runs"), unreliable),
        section("curves", "Learning curves", first, charts or note("These traces have no common columns to draw.")),
        section("controllers", "Controllers", reading(sources[0]) if same else None, *each),
    ]


def _run_trace(name: str, shown: ShownRun) -> RunTrace:
    """The trace; in a comparison (with a name) without unreliable values, which would hide the others."""
    trace: Mapping[str, Sequence[Any]] = shown.run.trace
    if name and unsupported(shown.run.record) and "value" in trace:
        trace = {**trace, "value": [None] * len(trace["value"])}
    return RunTrace(name, trace, tuple(agent.name for agent in shown.run.team.agents))


def _names(runs: Sequence[ShownRun]) -> list[str]:
    """The folders' names; full paths for equal names."""
    short = [shown.run.name for shown in runs]
    return [name if short.count(name) == 1 else str(shown.run.folder) for name, shown in zip(short, runs, strict=True)]


def _replay(shown: ShownRun) -> Markup:
    """Episodes played on the source of the run or, for a run from logs, in the learned world."""
    if isinstance(shown.source, Episodes):
        from decpomdp.report.learned_world import world_of, world_section

        world = world_of(shown.run)
        if world is not None:
            return section("world", "Learned world", *world_section(shown, world))
    performance, team = shown.performance, shown.run.team
    if performance.replay is None or shown.source is None:
        return section("replay", "Replay", note(f"No replay: {shown.missing}."))
    played = panel(team, performance.uses, replay_from(performance.replay, team, shown.source))
    return section("replay", "Replay", note(performance.note), played)
