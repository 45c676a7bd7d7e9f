# SPDX-License-Identifier: Apache-2.0
"""That soak.py notices what it looks for, with a made-up program instead of thinpipe."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from collections.abc import Callable
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "soak.py"
sys.path.insert(0, str(SCRIPT.parent))
from soaking.invariants import Sample, check_flat  # noqa: E402
from soaking.surroundings import Surroundings, descriptors, shared_memory_in_use  # noqa: E402
from soaking.turn import Round, Violation  # noqa: E402

# Completes each run of the experiment that has no record. FAULT, an attribute of the file below, is what it does wrong.
PROGRAM = """#!/usr/bin/env python3
import itertools, json, os, subprocess, sys, time
from pathlib import Path
fault = FAULT
arguments = sys.argv[1:]
if arguments[0] == "report":
    records = [json.loads(path.read_text()) for path in Path(arguments[1]).glob("*/*/run.json")]
    print(json.dumps({"runs": records}))
    sys.exit()
sweep = json.loads(Path(arguments[1]).read_text())["sweep"]
results = Path(arguments[arguments.index("--results") + 1]) / "soak"
for number, values in enumerate(itertools.product(*sweep.values()), 1):
    label = ", ".join(map(str, values))
    file = results / label / "run.json"
    if file.exists() and fault != "twice":
        continue
    for report in ("starting", "starting"):  # as every few seconds while the machine is busy
        print(f"01:02:03 [{number}/9] {label}: {report}", file=sys.stderr, flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    time.sleep(0.02)
    file.with_suffix(".new").write_text(json.dumps({"label": label, "status": "completed"}))
    file.with_suffix(".new").rename(file)
    print(f"01:02:09 [{number}/9] {label}: completed", file=sys.stderr, flush=True)
    if fault == "again":
        print(f"01:02:10 [{number}/9] {label}: starting", file=sys.stderr, flush=True)
if fault == "process":
    subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
if fault == "file":
    (Path(os.environ["TMPDIR"]) / "left").touch()
if fault == "record" and "--retry-failed" in arguments:
    file.unlink()
if fault == "status":
    sys.exit(1)
"""


class SoakTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)

    def soak(self, fault: str) -> subprocess.CompletedProcess[str]:
        program = self.folder / "program"
        program.write_text(PROGRAM.replace("FAULT", repr(fault)), encoding="utf-8")
        program.chmod(0o755)
        arguments = ["--seed", "3", "--round", "1", "--program", program, "--folder", self.folder / "soak", "--patience", "1"]
        return subprocess.run([sys.executable, "-B", SCRIPT, *arguments], capture_output=True, text=True, check=False)

    def assert_violated(self, fault: str, complaint: str) -> None:
        ended = self.soak(fault)
        self.assertEqual(ended.returncode, 1, ended.stdout + ended.stderr)
        self.assertIn(complaint, ended.stderr)
        self.assertIn("again: scripts/soak.py --seed 3 --round 1", ended.stderr)
        self.assertTrue((self.folder / "soak" / "round-3-1" / "soak.json").exists(), "the evidence is kept")
        again = self.soak(fault)
        self.assertEqual((again.returncode, "round-3-1 of an earlier soak" in again.stderr), (2, True), again.stderr)

    def test_a_program_without_faults_passes(self) -> None:
        ended = self.soak("")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("1 rounds", ended.stdout)
        self.assertFalse((self.folder / "soak").exists())

    def test_a_process_that_stays(self) -> None:
        self.assert_violated("process", "processes are left")
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and b"THINPIPE_SOAK=round-3-1" in self.environment(entry):
                os.kill(int(entry.name), signal.SIGKILL)

    @staticmethod
    def environment(process: Path) -> list[bytes]:
        try:
            return (process / "environ").read_bytes().split(b"\0")
        except OSError:
            return []

    def test_a_file_that_stays(self) -> None:
        self.assert_violated("file", "temporary files are left")

    def test_shared_memory_of_another_program_is_not_left_behind(self) -> None:
        before = Surroundings.now()
        semaphore = multiprocessing.get_context("spawn").Semaphore()  # its file is mapped, and no longer open
        file = f"/dev/shm/sem.{semaphore._semlock.name.removeprefix('/')}"
        now = Surroundings.now()
        self.assertIn(file, now.shared)
        self.assertNotIn(f"file {file}", now.new_since(before))

    def test_a_process_that_ends_while_shared_memory_is_looked_for(self) -> None:
        processes = self.folder / "proc"
        (processes / "1").mkdir(parents=True)  # it ended after its folder was listed
        (processes / "2" / "fd").mkdir(parents=True)
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            (processes / "2" / "fd" / "3").symlink_to(file.name)
            self.assertEqual(shared_memory_in_use(processes), {os.stat(file.name).st_ino})

    def test_a_record_that_vanishes(self) -> None:
        self.assert_violated("record", "is lost")

    def test_a_run_that_starts_again(self) -> None:
        self.assert_violated("twice", "started although they were complete")

    def test_a_run_that_one_command_starts_twice(self) -> None:
        self.assert_violated("again", "one command started twice")

    def test_a_command_that_fails(self) -> None:
        self.assert_violated("status", "the undisturbed command ended with 1")

    def judge(self, memory_kib: Callable[[int], int], opened: Callable[[int], Counter[str]]) -> None:
        samples = [Sample(run, memory_kib(run), opened(run)) for run in range(1, 25) for _ in range(3)]
        check_flat(Round(1, 1, self.folder, SCRIPT, random.Random(1), True, 1.0), samples)

    def test_memory_and_descriptors_that_grow(self) -> None:
        self.judge(lambda _: 1000, lambda _: Counter(socket=2))
        with self.assertRaisesRegex(Violation, "memory grew by"):
            self.judge(lambda run: 1000 + 200 * run, lambda _: Counter(socket=2))
        with self.assertRaisesRegex(Violation, "kept [0-9]+ descriptors more .socket. after 24 runs"):
            self.judge(lambda _: 1000, lambda run: Counter(socket=2 + run, file=3))

    def test_a_busy_machine_may_leave_no_sample_between_two_runs(self) -> None:
        between, within = Counter(log=1), Counter(log=1, socket=2)
        self.judge(lambda _: 1000, lambda run: between if run == 7 else within)

    def test_descriptors_are_counted_by_kind(self) -> None:
        first = descriptors(os.getpid())
        with open(os.devnull):
            self.assertEqual(descriptors(os.getpid()) - first, Counter(null=1))
        self.assertEqual(descriptors(2**22 + 1), Counter())


if __name__ == "__main__":
    unittest.main()
