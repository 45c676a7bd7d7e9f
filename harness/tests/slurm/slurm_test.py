# SPDX-License-Identifier: Apache-2.0
"""Runs sweeps on a Slurm cluster that cluster.py starts on this machine.

Usage: slurm_test.py PATH/thinpipe
Exits with 77 and the reason if there can be no cluster here.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from cluster import Cluster, missing, processes_with, wait_for

PROGRAM = ""
ROOT = Path(__file__).resolve().parents[3]
END_S = 240  # of anything that a test waits for


def sweep_of(**further: object) -> dict:
    """Returns a sweep of six runs of two workers on the loopback, each of a second."""
    return {
        "name": "sweep",
        "base": {
            "topology": "loopback",
            "model": {"name": "mlp", "hidden": [8]},
            "dataset": {"name": "synthetic", "train_examples": 512},
            "training": {"batch_size_per_worker": 8, "evaluate_every_iterations": 8},
            "pretraining": {"iterations": 0},
        },
        "sweep": {"synchroniser.name": ["dense", "fp16", "int8"], "seed": [1, 2]},
    } | further


class SlurmSetting(unittest.TestCase):
    configuration = ""

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = cls.enterClassContext(Cluster(cls.configuration))

    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(dir="/var/tmp")))
        self.cluster.wait_until_idle()

    def write(self, sweep: dict) -> None:
        (self.folder / "sweep.json").write_text(json.dumps(sweep), encoding="utf-8")

    def command(self, *arguments: str) -> list[str]:
        return [PROGRAM, "run", "sweep.json", *arguments]

    def thinpipe(self, *arguments: str, status: int = 0) -> str:
        ended = subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=self.cluster.environment, timeout=END_S,
                               capture_output=True, text=True)
        self.assertEqual(ended.returncode, status, ended.stdout + ended.stderr)
        return ended.stdout + ended.stderr

    def on_slurm(self, *arguments: str, status: int = 0) -> str:
        return self.thinpipe("run", "sweep.json", "--executor", "slurm", *arguments, status=status)

    def records(self, results: str = "results") -> dict[str, dict]:
        """Returns the records by run id."""
        files = (self.folder / results / "sweep").glob("*/run.json")
        return {file.parent.name: json.loads(file.read_text()) for file in files}

    def submissions(self) -> list[dict]:
        return [json.loads(file.read_text()) for file in (self.folder / "results/sweep/slurm").glob("*.json")]

    def submitted(self) -> list[list[str]]:
        """Returns the ids of the runs of each submission."""
        return [[run["id"] for run in each["runs"]] for each in self.submissions() if "prepares" not in each]

    def logs(self) -> list[str]:
        return [file.read_text() for file in (self.folder / "results/sweep/slurm").glob("*.log")]

    def states(self) -> dict[str, str]:
        return {run["run_id"]: run["state"] for run in json.loads(self.thinpipe("status", "results", "--json"))}


class SlurmTest(SlurmSetting):
    def test_a_sweep_gives_the_same_records_as_on_one_machine(self) -> None:
        self.write(sweep_of(sweep={"synchroniser.name": ["dense", "fp16", "bf16", "int8"], "seed": list(range(1, 11))}))
        output = self.on_slurm()
        self.assertIn("40 of 40 runs ended", output)
        self.thinpipe("run", "sweep.json", "--results", "local")
        here, there = self.records("local"), self.records()
        self.assertEqual(here.keys(), there.keys())
        for run_id, record in here.items():
            other = there[run_id]
            for member in ("status", "label", "labels", "config", "parameters_hash", "iterations"):
                self.assertEqual(record[member], other[member], member)
            self.assertEqual([point["test_accuracy"] for point in record["curve"]],
                             [point["test_accuracy"] for point in other["curve"]])
        self.assertEqual(set(self.states().values()), {"completed"})
        self.assertIn("completed earlier", self.thinpipe("run", "sweep.json"))
        self.on_slurm()
        self.assertEqual(len(self.submitted()), 1, "what has ended is not submitted again")

    def test_replays_wait_for_the_convergence_runs(self) -> None:
        sweep = sweep_of(sweep={"synchroniser.name": ["dense", "fp16"], "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]})
        sweep["base"] |= {"mode": "simulate", "topology": "pair", "compute_profile": "a40"}
        self.write(sweep)
        self.on_slurm()
        records = self.records()
        self.assertEqual(sorted(record["mode"] for record in records.values()), ["converge"] * 2 + ["simulate"] * 4)
        self.assertEqual({record["status"] for record in records.values()}, {"completed"})
        self.assertEqual(sorted(map(len, self.submitted())), [2, 4])

    def test_tasks_of_their_own_make_what_runs_share(self) -> None:
        sweep = sweep_of(sweep={"synchroniser.name": ["dense", "fp16"], "bottleneck.rate": ["100 Mbit/s", "1 Gbit/s"]})
        sweep["base"] |= {"mode": "simulate", "topology": "pair", "compute_profile": "a40",
                          "pretraining": {"iterations": 20}}
        self.write(sweep)
        output = self.on_slurm()
        self.assertIn("6 of 6 runs ended", output)
        prepared = {each["prepares"]: len(each["runs"]) for each in self.submissions() if "prepares" in each}
        self.assertEqual(prepared, {"weights": 1, "measurements": 1})
        logs = "".join(self.logs())
        self.assertEqual(len(re.findall("preparing", logs)), 2)
        self.assertNotIn("waiting for", logs, "no run waits for a lock on its node")
        self.assertEqual({record["status"] for record in self.records().values()}, {"completed"})
        made = [file.stat().st_mtime for file in (self.folder / "results/sweep/initial-weights").glob("*.pt")]
        self.assertEqual(len(made), 1)
        # What is there is not made again.
        for record in (self.folder / "results/sweep").glob("*/run.json"):
            record.unlink()
        self.on_slurm()
        self.assertEqual(len([each for each in self.submissions() if "prepares" in each]), 2)

    def test_a_killed_controller_loses_nothing_and_repeats_nothing(self) -> None:
        self.write(sweep_of())
        with subprocess.Popen(self.command("--executor", "slurm"), cwd=self.folder, env=self.cluster.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as controller:
            wait_for(lambda: "running" in self.states_if_any().values(), END_S)
            controller.send_signal(signal.SIGKILL)
        output = self.on_slurm()
        self.assertEqual(len(self.submitted()), 1, output)
        self.assertEqual([record["status"] for record in self.records().values()], ["completed"] * 6)
        starts = re.findall(r"starting", "".join(self.logs()))
        self.assertEqual(len(starts), 6, "each run was executed once")

    def in_flight(self) -> int:
        """Returns how many runs train, and have not ended."""
        folders = [file.parent for file in (self.folder / "results/sweep").glob("*/iterations.jsonl") if lines_of(file) > 20]
        return sum(not (folder / "run.json").exists() for folder in folders)

    def test_a_full_disk_loses_nothing_and_repeats_nothing(self) -> None:
        sweep = sweep_of(sweep={"seed": list(range(1, 11))})
        sweep["base"]["training"]["epochs"] = 200
        self.write(sweep)
        disk = SmallDisk(self.folder / "results")
        self.addCleanup(disk.unmount)
        with subprocess.Popen(self.command("--executor", "slurm"), cwd=self.folder, env=self.cluster.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as controller:
            # Of three times four runs, one at a time on each node, the second four train when it fills.
            wait_for(lambda: len(self.records()) >= 4 and self.in_flight() >= 3, END_S)
            disk.fill()
            _, errors = controller.communicate(timeout=END_S)
        self.assertEqual(controller.returncode, 1, errors)
        complete = self.records()
        self.assertEqual({record["status"] for record in complete.values()}, {"completed"}, "a full disk is no failure")
        self.assertLess(len(complete), 8)
        self.assertRegex(errors, "ended without a record.* ends with: thinpipe: write .*/results/sweep/.*: No space left on device")

        disk.free()
        self.on_slurm()
        records = self.records()
        self.assertEqual([record["status"] for record in records.values()], ["completed"] * 10)
        self.assertEqual({run_id: records[run_id] for run_id in complete}, complete)
        first, second = sorted(self.submitted(), key=len, reverse=True)
        self.assertEqual(sorted(second), sorted(set(first) - set(complete)), "only what was missing is submitted again")
        self.assertIn("completed earlier", self.thinpipe("run", "sweep.json"))
        self.assertEqual(self.records(), records)

    def node_of_a_trainer(self) -> str | None:
        """Returns a node on which a run trains."""
        found = re.search(r"running  job \S+ on (n\d): .*, iteration ", self.thinpipe("status", "results"))
        return found and found[1]

    def states_if_any(self) -> dict[str, str]:
        return self.states() if (self.folder / "results/sweep/slurm").exists() else {}

    def test_a_detached_sweep_is_shown_cancelled_and_repeated(self) -> None:
        sweep = sweep_of()
        sweep["base"]["training"]["epochs"] = 2000
        self.write(sweep)
        self.assertIn("6 runs are with Slurm", self.on_slurm("--detach"))
        wait_for(lambda: sorted(self.states().values()) == ["running"] * 4 + ["waiting"] * 2, END_S)
        wait_for(lambda: self.thinpipe("status", "results").count(", iteration ") == 4, END_S)
        shown = self.thinpipe("status", "results")
        self.assertRegex(shown, r"^6 runs: 4 running, 2 waiting\n")
        self.assertRegex(shown, r"running  job \d+_\d on n\d: epoch \d+, iteration \d+/\d+, accuracy")
        self.assertIn("Resources", shown)
        self.assertIn("6 runs cancelled", self.thinpipe("cancel", "results"))
        wait_for(lambda: not {"running", "waiting"} & set(self.states().values()), END_S)
        self.assertIn("0 runs cancelled", self.thinpipe("cancel", "results"))
        again = self.on_slurm("--detach")
        self.assertIn("6 runs are with Slurm", again)
        self.assertEqual(len(self.submitted()), 2)
        self.thinpipe("cancel", "results")

    def test_a_run_on_a_node_that_dies_is_executed_by_another_node(self) -> None:
        sweep = sweep_of(sweep={"seed": [1, 2]})
        sweep["base"]["training"]["epochs"] = 200
        self.write(sweep)
        with subprocess.Popen(self.command("--executor", "slurm"), cwd=self.folder, env=self.cluster.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as controller:
            wait_for(lambda: self.states_if_any() and self.node_of_a_trainer(), END_S)
            node = self.node_of_a_trainer()
            self.cluster.kill_node(node)
            self.addCleanup(self.cluster.repair_node, node)  # whatever happens, as the other tests need it
            self.assertEqual(controller.wait(timeout=END_S), 0)
        self.assertEqual([record["status"] for record in self.records().values()], ["completed"] * 2)
        starts = re.findall(r"\[1/1\] .*: starting", "".join(self.logs()))
        self.assertEqual(len(starts), 3, "one of the two was executed twice")

    def test_a_killed_job_loses_nothing_and_repeats_nothing(self) -> None:
        sweep = sweep_of(sweep={"seed": [1, 2]})
        sweep["base"]["training"]["epochs"] = 100
        self.write(sweep)
        with subprocess.Popen(self.command("--executor", "slurm"), cwd=self.folder, env=self.cluster.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as controller:
            wait_for(lambda: self.states_if_any() and self.node_of_a_trainer(), END_S)
            mark = f"SLURMD_NODENAME={self.node_of_a_trainer()}".encode()
            for process in processes_with(mark):
                if Path(f"/proc/{process}/comm").read_text().startswith("thinpipe"):
                    os.kill(process, signal.SIGKILL)
            _, errors = controller.communicate(timeout=END_S)
        self.assertEqual(controller.returncode, 1, errors)
        before = self.records()
        self.assertEqual([record["status"] for record in before.values()], ["completed"], errors)
        self.on_slurm()
        self.assertEqual(sorted(map(len, self.submitted())), [1, 2])
        after = self.records()
        self.assertEqual([record["status"] for record in after.values()], ["completed"] * 2)
        self.assertEqual({run: after[run] for run in before}, before)

    def test_before_its_time_limit_a_run_is_interrupted_and_then_continued(self) -> None:
        sweep = sweep_of(sweep={"seed": [1]})
        sweep["base"]["training"]["epochs"] = 500
        self.write(sweep)
        with subprocess.Popen(self.command("--executor", "slurm"), cwd=self.folder, env=self.cluster.environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as controller:
            wait_for(lambda: self.states_if_any() and ", iteration " in self.thinpipe("status", "results"), END_S)
            job = json.loads(self.thinpipe("status", "results", "--json"))[0]["job"]
            self.cluster.call("scancel", "--signal=TERM", "--batch", job)  # as Slurm does before the limit
            _, errors = controller.communicate(timeout=END_S)
        self.assertEqual(controller.returncode, 1)
        self.assertIn("interrupted; this command again continues it", errors)
        self.assertEqual(list(self.states().values()), ["interrupted"])
        (interrupted,) = self.records().values()
        self.on_slurm()
        self.assertEqual(len(self.submitted()), 2)
        (record,) = self.records().values()
        self.assertEqual([each["after_iteration"] for each in record["interruptions"]], [interrupted["iterations"]])
        self.assertGreater(record["iterations"], interrupted["iterations"])
        self.assertEqual([point["iteration"] for point in record["curve"]],
                         sorted({point["iteration"] for point in record["curve"]}))

    def test_each_run_has_its_own_emulated_network(self) -> None:
        sweep = sweep_of(sweep={"seed": [1, 2, 3, 4]})
        sweep["base"] |= {"topology": "pair"}
        self.write(sweep)
        self.on_slurm()
        for record in self.records().values():
            self.assertEqual(record["status"], "completed")
            self.assertGreater(record["traffic"]["wire_bytes"]["w0->w1"], 0)

    def test_a_failed_run_has_its_reason(self) -> None:
        sweep = sweep_of(sweep={"seed": [1]})
        sweep["base"]["worker_events"] = [{"at": "300 ms", "worker": 1, "action": "kill"}]
        sweep["base"]["training"]["epochs"] = 2000
        self.write(sweep)
        self.assertIn("failed: ", self.on_slurm(status=1))
        self.assertEqual(list(self.states().values()), ["failed"])

    def test_the_experiment_may_name_the_executor(self) -> None:
        two_runs = {"synchroniser.name": ["dense"], "seed": [1, 2]}
        self.write(sweep_of(sweep=two_runs, executor={"name": "slurm", "time": "7", "sbatch": ["--comment=from-the-file"]}))
        self.thinpipe("run", "sweep.json", "--detach")
        (name,) = [file.stem for file in (self.folder / "results/sweep/slurm").glob("*.json")]
        jobs = self.cluster.call("squeue", "--noheader", f"--name={name}", "--format=%l %k")
        self.assertEqual(set(jobs.splitlines()), {"7:00 from-the-file"})
        self.assertIn("2 of 2 runs ended", self.thinpipe("run", "sweep.json"))
        self.assertIn("completed", self.thinpipe("run", "sweep.json", "--executor", "local", "--results", "here"))
        self.assertFalse((self.folder / "here/sweep/slurm").exists())

        self.write(sweep_of(executor={"name": "local", "partition": "main"}))
        self.assertIn("/executor/partition: has an effect only", self.thinpipe("run", "sweep.json", status=2))
        self.write(sweep_of(executor={"name": "slurm", "sbatch": ["--mem=1G", "--array=0-3"]}))
        self.assertIn("/executor/sbatch/1: is set by thinpipe", self.thinpipe("run", "sweep.json", status=2))

    def test_what_slurm_refuses_leaves_no_trace(self) -> None:
        self.write(sweep_of())
        output = self.on_slurm("--partition", "nowhere", status=1)
        self.assertIn("invalid partition", output)
        self.assertRegex(output, "sbatch .*ended with exit code 1")
        self.assertEqual(self.submitted(), [])

    def test_options_of_slurm_have_an_effect_only_there(self) -> None:
        self.write(sweep_of())
        for option in (["--partition", "main"], ["--detach"], ["--", "--mem=1G"]):
            output = self.thinpipe("run", "sweep.json", *option, status=2)
            self.assertIn("has an effect only with --executor slurm", output)
        for option in ("--job-name=mine", "-Jmine", "--array=0-3", "-a"):
            output = self.thinpipe("run", "sweep.json", "--executor", "slurm", "--", option, status=2)
            self.assertIn("is set by thinpipe", output)


def lines_of(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


class SmallDisk:
    """A file system at this folder, until unmount()."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m", "thinpipe-test", folder], check=True)

    def fill(self) -> None:
        piece = 4096
        with (self._folder / "ballast").open("wb") as ballast:
            size = 0
            while True:
                free = shutil.disk_usage(self._folder).free
                try:
                    os.posix_fallocate(ballast.fileno(), size, max(free, piece))
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    if free < piece:
                        return
                size = os.fstat(ballast.fileno()).st_size

    def free(self) -> None:
        (self._folder / "ballast").unlink()

    def unmount(self) -> None:
        subprocess.run(["umount", "--lazy", self._folder], check=True)


PREEMPTION = """\
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
PartitionName=urgent Nodes=n[0-3] MaxTime=INFINITE State=UP PriorityTier=10
PartitionName=spare Nodes=n[0-3] MaxTime=INFINITE State=UP PriorityTier=1 PreemptMode=REQUEUE
"""


class PreemptionTest(SlurmSetting):
    configuration = PREEMPTION

    def test_a_preempted_run_continues_from_its_checkpoint(self) -> None:
        self.preempt()

    def test_it_does_so_under_fresh_too(self) -> None:
        self.preempt("--fresh")

    def preempt(self, *arguments: str) -> None:
        sweep = sweep_of(sweep={"seed": [1, 2, 3, 4]})
        sweep["base"]["training"]["epochs"] = 600
        self.write(sweep)
        with subprocess.Popen(self.command("--executor", "slurm", "--partition", "spare", *arguments), cwd=self.folder,
                              env=self.cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True) as controller:
            iterations = self.folder / "results/sweep"
            # A run that has not begun to train has no checkpoint yet.
            wait_for(lambda: sum(lines_of(file) > 20 for file in iterations.glob("*/iterations.jsonl")) == 4, END_S)
            self.cluster.call("srun", "--partition=urgent", "--nodes=4", "--exclusive", "true")
            output, _ = controller.communicate(timeout=2 * END_S)
        self.assertEqual(controller.returncode, 0, output)
        records = self.records()
        self.assertEqual([record["status"] for record in records.values()], ["completed"] * 4)
        self.assertEqual(len(self.submitted()), 1)
        starts = re.findall(r"\[1/1\] .*: starting", "".join(self.logs()))
        self.assertEqual(len(starts), 8, "each run was preempted once")
        for record in records.values():
            self.assertEqual(len(record["interruptions"]), 1)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    if reason := missing():
        print("SKIPPED:", reason)
        sys.exit(77)
    unittest.main(verbosity=2)
