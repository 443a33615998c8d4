"""The plain parts of the page: facts, settings and log of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from decpomdp.io.runs import LOG, RunRecord
from decpomdp.report.curves import tick_label
from decpomdp.report.listing import LEGEND, MANY, MARK, NO_NUMBER, NONE, in_words, sizes_of, unsupported
from decpomdp.report.markup import Markup, table, tag

LOG_BYTES = 40_000  # of a log's end


def tiles(record: RunRecord) -> Markup:
    """The tiles at the top."""
    facts: list[tuple[str, str, str]] = [_value(record)]
    if record.best_known is not None:
        facts.append(("best known", f"{record.best_known:.5g}", "value of this problem, of any method"))
    if record.upper_bound is not None:
        facts.append(("upper bound", f"{record.upper_bound:.5g}", "of the value of any team"))
    many = len(record.nodes) > MANY
    mean = f"{sum(record.nodes) / len(record.nodes):.2f} on average, {len(record.nodes)} agents" if many else ""
    short = sizes_of(record.nodes).replace("+", " + ").replace("x", "\u00d7")
    facts.append(("nodes", short, mean or "one controller per agent"))
    facts.append(("time", in_words(record.seconds, ".3g") + " s", f"stopped: {record.stopped}"))
    if record.steps is not None:
        short = f"{record.steps:,.0f}" if record.steps < 1e6 else tick_label(record.steps, record.steps / 1000)
        facts.append(("played", short, f"{record.steps:,.0f} joint steps"))
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
    """The class of texts that are no number, or an unreliable one."""
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
