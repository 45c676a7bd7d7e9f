# SPDX-License-Identifier: Apache-2.0
"""The ratio that watching_cost.py prints, with a made-up program instead of thinpipe."""
from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "watching_cost.py"

# Iterations take 2 ms without watching and 10 % longer with it. The log has the order of the runs.
PROGRAM = """#!/usr/bin/env python3
import json, sys, time
from pathlib import Path
arguments = sys.argv[1:]
watches = "--no-worker-times" not in arguments
assert watches == ("--no-connections" not in arguments) == ("--link-samples" not in arguments)
with Path(__file__).with_name("log").open("a") as log:
    log.write("+" if watches else "-")
if "fail" in Path(arguments[1]).name:
    sys.exit("the run failed")
folder = Path(arguments[arguments.index("--results") + 1]) / "experiment" / str(time.monotonic_ns())
folder.mkdir(parents=True)
for mode, place in (("converge", "a"), ("replay", "b")):
    (folder.with_name(folder.name + place)).mkdir()
    record = {"mode": mode, "provenance": {"started_at": f"{time.time_ns():020}"},
              "iteration_time_s": {"p50": 2.2e-3 if watches else 2e-3}}
    (folder.with_name(folder.name + place) / "run.json").write_text(json.dumps(record))
"""


class WatchingCostTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)

    def measure(self, experiment: str, rounds: int) -> subprocess.CompletedProcess[str]:
        arguments = ["--program", self.program, "--experiment", self.folder / experiment, "--rounds", str(rounds)]
        return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True, check=False)

    def test_prints_the_ratio_of_alternating_runs(self) -> None:
        ended = self.measure("mine.json", 3)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertEqual(ended.stdout.splitlines()[-1], "| experiment | 2.00 | 2.20 | 1.100 | 1.100 to 1.100 |")
        self.assertEqual((self.folder / "log").read_text(), "-++--+")

    def test_a_run_that_fails_is_shown(self) -> None:
        ended = self.measure("fail.json", 2)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("the run failed", ended.stderr)

    def test_one_round_is_too_few(self) -> None:
        ended = self.measure("mine.json", 1)
        self.assertEqual((ended.returncode, "--rounds must be at least 2" in ended.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
