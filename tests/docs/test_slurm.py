"""The page's slurm.py with dask-jobqueue itself, and a queue that begins every job at once on this machine.

What is not Slurm's is real: dask-jobqueue writes the job scripts and hands them to `sbatch`, the jobs start workers,
these find the scheduler, and the learner works on them. `sbatch`, `squeue` and `scancel` are scripts that keep a list
of processes. What belongs to a site is put in its place: the network interface, the sizes, how the environment of the
nodes is entered.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import decpomdp as dp
from docs.pages import ROOT, fences

PAGE = ROOT / "docs/howto/cluster.md"
SITE = {  # what the page says: what is there
    'interface="ib0"': 'interface="lo"',
    "cores=16": "cores=1",
    "processes=16": "processes=1",
    'memory="64GB"': 'memory="2GB"',
    "jobs=6": "jobs=2",
    "source /shared/venv/bin/activate": f"export PATH={Path(sys.executable).parent}:$PATH",
    "/shared/numba": os.environ.get("NUMBA_CACHE_DIR", ""),
    '"--out", "run"': '"--truncation", "3", "--sweeps", "2", "--out", "run"',
}
QUEUE = {
    "sbatch": 'cp "$1" job.$$; setsid bash job.$$ > log.$$ 2>&1 & echo $! >> "$QUEUE"; echo "Submitted batch job $!"',
    "squeue": 'cat "$QUEUE"',
    "scancel": 'for job in "$@"; do kill -- -"$job"; done',
}


def script():
    (text,) = (fence.text for fence in fences(PAGE.read_text()) if fence.title == "slurm.py")
    for said, here in SITE.items():
        if here:
            assert text.count(said) == 1, said
            text = text.replace(said, here)
    return text


@pytest.fixture
def queue(tmp_path):
    """Environment with the three commands; jobs that are left over are ended."""
    for name, body in QUEUE.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    started = tmp_path / "jobs"
    started.touch()
    here = f"{tmp_path}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    yield {**os.environ, "PATH": here, "QUEUE": str(started), "PYTHONPATH": str(tmp_path / "installed")}
    for job in started.read_text().split():
        subprocess.run(["kill", "--", f"-{job}"], check=False, capture_output=True)


@pytest.mark.slow
def test_the_script_learns_on_workers_of_the_queue(tmp_path, queue):
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run([*pip, "--target", tmp_path / "installed", "dask-jobqueue==0.9.0"], check=True)
    dp.simulate("dectiger", episodes=4000, horizon=6, seed=1).save(tmp_path / "episodes.parquet")
    (tmp_path / "slurm.py").write_text(script())
    done = subprocess.run(
        [sys.executable, "slurm.py"], cwd=tmp_path, env=queue, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "jobs").read_text().split()) == 2
    logs = "".join(path.read_text() for path in tmp_path.glob("log.*"))
    assert "Registered to" in logs
    there = tmp_path / "run" / "team.json"
    here = dp.learn(dp.Episodes.load(tmp_path / "episodes.parquet"), dp.Sbpr(truncation=3, sweeps=2), seed=0)
    assert dp.Team.load(there) == here.team
    job = next(tmp_path.glob("job.*")).read_text()
    for line in ("#SBATCH -t 04:00:00", "#SBATCH --requeue", "#SBATCH --cpus-per-task=1"):
        assert line in job, job
