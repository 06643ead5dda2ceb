"""Reading and deciding without native module and GPU libraries: in one process that can import neither."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.factory.ab import REQUIRED, ab_content, small_experiment, write_evidence

ROOT = Path(__file__).resolve().parents[2]
PARITY = ROOT / "evidence" / "parity-rungs-h200.json"
TUNE = ROOT / "evidence" / "tune-h200.json"
TIMING = ROOT / "evidence" / "timing-rungs-h200.json"
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name == "rust_kernel._native" or name.split(".")[0] in {"cupy", "torch", "pynvml"}:
            raise ImportError(name)
sys.meta_path.insert(0, Blocked())
from diffcheck.cli.main import run
for line in sys.stdin.read().splitlines():
    code, *arguments = line.split()
    assert run(arguments) == int(code), line
"""


def test_reading_and_deciding(tmp_path: Path) -> None:
    promoted = write_evidence(tmp_path / "all", [ab_content(host) for host in REQUIRED])
    held = write_evidence(tmp_path / "one", [ab_content("gb10")])
    small = write_evidence(tmp_path / "small", [ab_content("h200", small_experiment())]) / "promote-oxide" / "h200.json"
    edited = tmp_path / "tune.json"
    edited.write_text(re.sub(r'"low": [0-9.]+', '"low": 0.5', TUNE.read_text(), count=1))
    a, b = (promoted / "promote-oxide" / f"{host}.json" for host in REQUIRED)
    commands = [
        *(f"0 list {what}" for what in ("experiments", "hosts", "policies", "goals", "reasons", "cases")),
        "0 subjects",
        "0 receipt schema diffcheck-ab/1",
        f"0 receipt show {a}",
        f"0 receipt show {PARITY}",
        f"0 receipt validate {a} {PARITY}",
        f"0 receipt show {TIMING}",
        f"0 receipt validate {TUNE}",
        f"1 receipt validate {edited}",
        f"1 receipt diff {a} {b}",
        f"0 receipt import {ROOT / 'tests' / 'data' / 'imports' / 'rows.json'}",
        f"0 receipt export {small}",
        f"0 roofline {small}",
        f"0 plot times {small} -o {tmp_path / 'times.svg'}",
        f"0 decide promote-oxide --evidence {promoted}",
        f"10 decide promote-oxide --evidence {held}",
        f"1 goals --evidence {held}",
        f"0 review promote-oxide --evidence {held} -o {tmp_path / 'page.html'}",
    ]
    ran = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        cwd=ROOT,
        input="\n".join(commands),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert f"{TUNE}: valid diffcheck-tune/1; whether the planner makes its plans was not asked" in ran.stdout
    assert f"{edited}: not valid: random-16x4-L4096-f16, builder w12r4 one-wave: low is stated as 0.5" in ran.stdout
