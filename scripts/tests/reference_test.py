# SPDX-License-Identifier: Apache-2.0
"""When reference.sh keeps records, with a made-up program instead of thinpipe."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "reference.sh"
# "run" ends with $RUN_STATUS, "export" writes a record.
THINPIPE = """#!/bin/sh
case $1 in
  --version) echo "thinpipe 0.1.0 ($VERSION)" ;;
  run) exit "$RUN_STATUS" ;;
  export) echo '{}' > "$4" ;;
esac
"""


class ReferenceTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        program = self.folder / "build/release/thinpipe"
        program.parent.mkdir(parents=True)
        program.write_text(THINPIPE)
        program.chmod(0o755)
        (self.folder / "scripts").mkdir()
        shutil.copy(SCRIPT, self.folder / "scripts")

    def call(self, name: str, run_status: int = 0, version: str = "0123456789") -> tuple[int, str]:
        environment = {**os.environ, "RUN_STATUS": str(run_status), "VERSION": version}
        environment.pop("THINPIPE", None)
        done = subprocess.run([self.folder / "scripts/reference.sh", name], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        return done.returncode, done.stderr

    def is_exported(self, name: str) -> bool:
        return (self.folder / f"results/reference/{name}/records.jsonl").exists()

    def test_records_are_exported(self) -> None:
        self.call("peers")
        self.assertTrue(self.is_exported("peers"))

    def test_a_failed_run_ends_it(self) -> None:
        status, _ = self.call("peers", run_status=1)
        self.assertEqual(status, 1)
        self.assertFalse(self.is_exported("peers"))

    def test_a_run_may_diverge_in_a_grid_of_learning_rates(self) -> None:
        self.call("learning-rates", run_status=1)
        self.assertTrue(self.is_exported("learning-rates"))

    def test_wrong_input_ends_it_there_too(self) -> None:
        status, _ = self.call("learning-rates", run_status=2)
        self.assertEqual(status, 2)
        self.assertFalse(self.is_exported("learning-rates"))

    def test_a_program_that_is_not_of_a_commit_is_refused(self) -> None:
        status, message = self.call("peers", version="0123456789, with uncommitted changes")
        self.assertEqual(status, 2)
        self.assertIn("built with uncommitted changes", message)
        self.assertFalse(self.is_exported("peers"))

    def test_runs_of_an_earlier_commit_are_told(self) -> None:
        for commit in ("0123456789", "9876543210"):
            with self.subTest(commit):
                run = self.folder / "results/reference-runs/peers/peers/0525f048e98d8bc4/run.json"
                run.parent.mkdir(parents=True, exist_ok=True)
                run.write_text(f'{{\n  "provenance": {{\n    "git_commit": "{commit}abcdef"\n  }}\n}}\n')
                _, message = self.call("peers")
                self.assertEqual("runs of an earlier commit stay" in message, commit == "9876543210", message)

    def test_so_are_many(self) -> None:
        for number in range(3000):
            run = self.folder / f"results/reference-runs/peers/peers/{number}/run.json"
            run.parent.mkdir(parents=True)
            run.write_text('{"git_commit": "9876543210abcdef"}')
        _, message = self.call("peers")
        self.assertIn("runs of an earlier commit stay", message)


if __name__ == "__main__":
    unittest.main()
