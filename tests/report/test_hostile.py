"""Run folders that somebody else filled with harm, in a real browser: no script runs, no server is asked."""

import json
import shutil
from pathlib import Path

import pytest

from decpomdp.cli.main import code_of
from decpomdp.io.runs import read_run
from decpomdp.report.page import write_page
from decpomdp.report.performance import shown

RUN_FOLDER = Path(__file__).parents[1] / "fuzz" / "corpus" / "run_folder"
HARM = (
    "<script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "'\"><svg onload=alert(1)>",
    "javascript:alert(1)",
    "</style><script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</title><iframe src='https://example.org/'></iframe>",
    "url(https://example.org/x.png)",
    "<link rel=stylesheet href=https://example.org/x.css>",
    "<meta http-equiv=refresh content='0;url=https://example.org/'>",
    "]]>",
    "${alert(1)}",
    "\u2028alert(1)\u2029",
    "<!--",  # last: it would hide the others
)


def harmful(value, harm):
    """The same JSON with harm in place of every text, also as names where any name will do."""
    if isinstance(value, dict):
        return {key: harmful(item, harm) for key, item in value.items()}
    if isinstance(value, list):
        return [harmful(item, harm) for item in value]
    return harm if isinstance(value, str) else value


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "<b>run</b>"
    shutil.copytree(RUN_FOLDER, place)
    return place


def poison(folder, harm):
    record = json.loads((folder / "run.json").read_text())
    told = harmful(record, harm)
    told.update(format=record["format"], source="broadcast", digest="", settings={harm: harm}, versions={harm: harm})
    (folder / "run.json").write_text(json.dumps(told))
    team = json.loads((folder / "team.json").read_text())
    named = harmful(team, harm) | {"format": team["format"], "problem": " ".join(harm.split())}  # it is one line
    for agent, usual in zip(named["agents"], team["agents"], strict=True):
        agent["name"] = harm + usual["name"]
        for part in ("actions", "observations"):
            agent[part] = [harm + label for label in usual[part]]
    (folder / "team.json").write_text(json.dumps(named))
    (folder / "log.txt").write_text(harm)


@pytest.mark.browser
def test_nothing_runs_and_nothing_is_asked_for(browser, folder):
    poison(folder, " ".join(HARM))
    path = write_page([shown(read_run(folder))])
    happened = []
    page = browser.new_page()
    page.on("dialog", lambda dialog: (happened.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: happened.append(message.text))
    page.on("pageerror", lambda error: happened.append(str(error)))
    page.on("request", lambda request: happened.append(request.url) if "file:" not in request.url else None)
    page.on("framenavigated", lambda frame: happened.append(frame.url) if "file:" not in frame.url else None)
    page.goto(path.resolve().as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.locator("img, iframe, link, style + style, [onerror], [onload]").count() == 0
    assert page.locator("script:not([type])").count() == 1
    assert page.title() != "pwned"
    assert happened == []
    page.close()


def test_the_listing_of_runs_is_harmless(folder, capsys):
    for number, harm in enumerate((*HARM, "\x1b[2J", "\x9b2J", "a\tb\nc")):
        place = folder.parent / str(number)
        shutil.copytree(RUN_FOLDER, place)
        poison(place, harm)
    assert code_of(["runs", str(folder.parent)]) == 0
    said = capsys.readouterr()
    assert not set(said.out + said.err) & set("\x1b\x9b\u2028\u2029")
