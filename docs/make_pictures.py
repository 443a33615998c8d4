"""Draw the learned Dec-Tiger team for README.md, the home page and the tutorial: python docs/make_pictures.py

The same team that the tutorial learns (20 million steps, seed 1). Both controllers are put side by side in one SVG.
With chromium installed, a screenshot of the run's report is taken as well.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import decpomdp as dp

FOLDER = Path(__file__).parent / "pictures"
GAP, TITLE = 24, 30


def pair(team: dp.Team) -> str:
    """One SVG with the controllers of all agents side by side, each under its agent's name."""
    left, height, parts = 0.0, 0.0, []
    for agent in team.agents:
        svg = team.exported(agent.name, "svg")
        for name in set(re.findall(r'id="([\w-]+)"', svg)):  # ids must be unique in the joined file
            svg = re.sub(rf"(?<=[\"#]){name}(?=[\")])", f"{agent.name}-{name}", svg)
        wide, high = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups())
        middle = left + wide / 2
        parts.append(f'<text class="name" x="{middle:.1f}" y="20" text-anchor="middle">{agent.name}</text>')
        parts.append(svg.replace("<svg ", f'<svg x="{left:.1f}" y="{TITLE}" ', 1))
        left, height = left + wide + GAP, max(height, high)
    wide, high = left - GAP, height + TITLE
    style = "<style>.name { font: 600 15px sans-serif; fill: #1d2126; }</style>"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.1f} {high:.1f}" width="{wide:.0f}" '
        f'height="{high:.0f}" role="img" aria-label="The learned controllers of both agents of Dec-Tiger">{style}'
        f'<rect width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>\n'
    )


def screenshot(chromium: str) -> None:
    """The top of the report of the same run."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "tiger"
        command = ["decpomdp", "learn", "dectiger", "--steps", "20000000", "--seed", "1", "--out", str(run), "--quiet"]
        subprocess.run([sys.executable, "-m", *command], check=True)  # noqa: S603
        picture = f"--screenshot={FOLDER / 'page.png'}"
        size = ["--window-size=1100,1250", "--hide-scrollbars"]
        subprocess.run(  # noqa: S603
            [chromium, "--headless", "--no-sandbox", picture, *size, f"file://{run}/report.html"], check=True
        )


if __name__ == "__main__":
    team = dp.learn("dectiger", steps=20_000_000, seed=1).team
    (FOLDER / "dectiger_team.svg").write_text(pair(team), encoding="utf-8")
    if chromium := shutil.which("chromium"):
        screenshot(chromium)
