"""Asks for known vulnerabilities of everything that the lock names.

    python requirements/audit.py

Exit code 1 when there is one, 0 else. pip-audit calls it a success when its service knew nothing of any package; here
it is said how many were really looked up.
"""

import json
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parent / "dev.lock"
AUDIT = ["-m", "pip_audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off", "--format", "json"]


def main() -> int:
    done = subprocess.run([sys.executable, *AUDIT, "--requirement", LOCK], capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except ValueError:
        lines = done.stderr.strip().splitlines() or ["no answer"]
        print(f"not audited: the service cannot be reached from here ({lines[-1][:200]})")
        return 0
    text, code = summary(found)
    print(text)
    return code


def summary(found: list[dict]) -> tuple[str, int]:
    """What pip-audit found, in words, and the exit code."""
    known = [each for each in found if "skip_reason" not in each]
    bad = [(each, hole) for each in known for hole in each["vulns"]]
    lines = [
        f"{each['name']} {each['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'no version'}"
        for each, hole in bad
    ]
    if not known:
        lines.append(f"not audited: the service knows none of the {len(found)} packages from here")
    else:
        lines.append(f"{len(known)} of {len(found)} packages audited, {len(bad)} known vulnerabilities")
    return "\n".join(lines), int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
