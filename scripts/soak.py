#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random sweeps for hours, kills and starves them at random, and checks after each that nothing leaked, was lost or ran twice.

  scripts/soak.py --hours 6                    with build/release
  scripts/soak.py --minutes 3 --seed 7         a short test
  scripts/soak.py --seed 7 --round 12          one round again, as a failure prints it

A round makes an experiment (modes live, converge, replay, simulate; loopback or three-switch), starts `thinpipe run` and
disturbs it: SIGKILL or SIGTERM to the controller, SIGKILL to a worker, a fault that the experiment plans, a full disk (a
small tmpfs in a mount namespace of its own), or nothing. Then it starts the same command until all runs are complete.
The first round of each series of ten is a long sweep, whose controller's memory and descriptors must stay flat.

Invariants, after each round:
  nothing leaks   no process, mount, network device, temporary file or file in /dev/shm
  nothing lost    records that were complete before a disturbance are still there, byte for byte, and readable; the resumed
                  command completes all runs
  nothing twice   a run starts again only if it had no record; a further command starts nothing
  flat memory     the controller's memory and descriptors do not grow from run to run

Exit status: 0 all invariants held; 1 one was violated (the folder with the evidence is kept, and the command that repeats
the round is printed); 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MARK = "THINPIPE_SOAK"
ROUND_LIMIT_S = 900.0  # for one command
RESUMES = 4
SAMPLE_EVERY_S = 0.1
WORKER = "thinpipe-train"  # the beginning that the kernel keeps of its name
LONG_EVERY = 10
KILL_BY = ("nothing", "kill controller", "kill worker", "terminate", "planned fault", "full disk")
METHODS = {
    "dense": {"name": "dense"},
    "fp16": {"name": "fp16"},
    "topk": {"name": "topk", "ratio": 0.05},
    "qsgd": {"name": "qsgd"},
}
# What a controller may keep per run: a line of its summary, but no curve.
GROWTH_PER_RUN_KIB = 100.0
GROWTH_AT_MOST_KIB = 4096.0


class Violation(Exception):
    """An invariant does not hold."""


@dataclass
class Round:
    seed: int
    number: int
    folder: Path
    program: Path
    random: random.Random
    is_long: bool
    patience_s: float  # for processes that end by themselves
    disturbance: str = ""
    experiment: dict = field(default_factory=dict)
    starts: list[Counter[str]] = field(default_factory=list)  # by label, of each command
    notes: list[str] = field(default_factory=list)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    @property
    def mark(self) -> str:
        return f"{MARK}={self.folder.name}"

    def command(self, more: tuple[str, ...] = ()) -> list[str]:
        return [str(self.program), "run", str(self.folder / "soak.json"), "--results", str(self.results), "--profiling-time", "2 s", *more]

    def environment(self) -> dict[str, str]:
        own = {"TMPDIR": str(self.folder / "tmp"), MARK: self.folder.name}
        return os.environ | own


# Experiments


def make_experiment(turn: Round) -> dict:
    choose = turn.random
    if turn.is_long:
        return {
            "name": "soak",
            "base": base_of("loopback", 2, 10),
            "sweep": {"mode": ["live"], "method": methods(["dense", "topk"]), "seed": list(range(1, turn.random.randint(8, 12)))},
        }
    modes = choose.choice((["live"], ["converge"], ["replay"], ["simulate"], ["replay", "simulate"], ["live", "replay"]))
    if turn.disturbance == "planned fault":
        modes = ["live"]  # only these have workers that can fail
    topology = choose.choice(("loopback", "three-switch")) if modes == ["live"] else "three-switch"
    workers = 2 if topology == "loopback" else 8
    if modes == ["converge"]:
        topology, workers = "", 4
    iterations = choose.randint(6, 30)
    base = base_of(topology, workers, iterations)
    names = choose.sample(sorted(METHODS), choose.randint(1, 3))
    # The mode in the label tells a replay from the convergence run that it makes.
    sweep = {"mode": modes, "method": methods(names)}
    if turn.disturbance == "planned fault":
        event = {"worker": choose.randrange(workers), "at_iteration": choose.randint(2, 5), "action": "kill"}
        base["worker_events"] = [event]
        base["on_worker_failure"] = {"action": "restart", "at_most": 3, "checkpoint_every_iterations": 2}
    return {"name": "soak", "base": base, "sweep": sweep}


def base_of(topology: str, workers: int, iterations: int) -> dict:
    base: dict = {
        "seed": 1,
        "model": {"name": "mlp"},
        "dataset": {"name": "synthetic", "train_examples": iterations * workers * 8, "test_examples": 64},
        "pretraining": {"iterations": 0},
        "training": {"epochs": 1, "batch_size_per_worker": 8, "evaluate_every_iterations": 3},
    }
    if topology:
        base["topology"] = topology
    if topology != "three-switch":
        base["workers"] = workers
    return base


def methods(names: list[str]) -> dict:
    return {name: {"synchroniser": METHODS[name]} for name in names}


# Processes


def environment_of(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/environ").read_bytes()
    except OSError:
        return b""  # it has ended, or is another user's


def marked_processes(mark: str) -> list[int]:
    """Returns the processes whose environment has the mark. Zombies have no environment."""
    found = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [process for process in found if mark.encode() in environment_of(process).split(b"\0")]


def name_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def memory_kib(process: int) -> int | None:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    found = re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) if found else None


def descriptors(process: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{process}/fd"))
    except OSError:
        return None


def eventually(holds: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


# Surroundings


def mounts() -> set[str]:
    """Returns the mount points that may be ours: other programs of the machine mount, too."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return {point for point in (line.split()[4] for line in lines) if "thinpipe" in point}


def files_in_use() -> set[str]:
    used = set()
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            used.add(os.readlink(link))
        except OSError:
            continue
    return used


@dataclass
class Surroundings:
    mounts: set[str]
    devices: set[str]
    shared: set[str]

    @staticmethod
    def now() -> Surroundings:
        return Surroundings(mounts(), set(os.listdir("/sys/class/net")), {str(path) for path in Path("/dev/shm").rglob("*")})

    def new_since(self, before: Surroundings) -> list[str]:
        new = [f"mount {each}" for each in self.mounts - before.mounts]
        new += [f"network device {each}" for each in self.devices - before.devices]
        # Other programs of this machine may use /dev/shm meanwhile.
        if shared := self.shared - before.shared:
            new += [f"file {each}" for each in shared - files_in_use()]
        return sorted(new)


# Records


def completed_records(results: Path) -> dict[Path, bytes]:
    found = {}
    for path in results.glob("*/*/run.json"):
        text = path.read_bytes()
        try:
            record = json.loads(text)
        except ValueError as error:
            raise Violation(f"{path} is not a whole record: {error}") from error
        if record["status"] == "completed":
            found[path] = text
    return found


def labels_of(records: dict[Path, bytes]) -> set[str]:
    return {json.loads(text)["label"] for text in records.values()}


def starts_in(log: Path) -> Counter[str]:
    """Counts the runs that a command started, by label. A slow start is reported again and again, which counts once."""
    starts: Counter[str] = Counter()
    last: dict[str, str] = {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        if not (found := re.match(r"\S+ \[(\d+)/\d+\] (.*): ([^:]*)$", line)):
            continue
        place, label, event = found.groups()
        if event == "starting" and last.get(place) != event:
            starts[label] += 1
        last[place] = event
    return starts


# Checks


def check_leaks(turn: Round, before: Surroundings) -> None:
    if not eventually(lambda: not marked_processes(turn.mark), turn.patience_s):
        left = [f"{process} ({name_of(process)})" for process in marked_processes(turn.mark)]
        raise Violation(f"processes are left: {', '.join(left)}")
    if not eventually(lambda: not Surroundings.now().new_since(before), turn.patience_s):
        raise Violation(f"left behind: {', '.join(Surroundings.now().new_since(before))}")
    if left := [str(path) for path in (turn.folder / "tmp").rglob("*")]:
        raise Violation(f"temporary files are left: {', '.join(left)}")


def check_records_stay(before: dict[Path, bytes]) -> None:
    for path, text in before.items():
        if not path.exists():
            raise Violation(f"the record {path} is lost")
        if path.read_bytes() != text:
            raise Violation(f"the completed record {path} was replaced")


def check_starts(turn: Round, starts: Counter[str], complete: set[str]) -> None:
    if twice := [label for label, count in starts.items() if count > 1]:
        raise Violation(f"one command started twice: {', '.join(twice)}")
    if again := sorted(set(starts) & complete):
        raise Violation(f"started although they were complete: {', '.join(again)}")
    turn.starts.append(starts)


def check_complete(turn: Round) -> None:
    if left := [str(path) for path in turn.results.rglob(".*.tmp")]:
        raise Violation(f"unfinished files are left: {', '.join(left)}")
    report = subprocess.run(
        [turn.program, "report", turn.results, "--json"], capture_output=True, text=True, check=False, env=turn.environment()
    )
    (turn.folder / "report.json").write_text(report.stdout, encoding="utf-8")
    if report.returncode != 0 or "left out" in report.stderr:
        raise Violation(f"report ended with {report.returncode}: {report.stderr.strip()}")
    rows = json.loads(report.stdout)["runs"]
    if bad := [row["label"] for row in rows if row["status"] != "completed"]:
        raise Violation(f"not complete: {', '.join(bad)}")
    reported = {row["label"] for row in rows}
    planned = set().union(*turn.starts)
    if planned - reported:
        raise Violation(f"without a record: {', '.join(sorted(planned - reported))}")


def check_flat(turn: Round, samples: list[tuple[int, int, int]]) -> None:
    """Each sample has the number of ended runs, the memory in KiB and the number of descriptors."""
    runs = samples[-1][0] if samples else 0
    quarter = max(1, runs // 4)
    early = [sample for sample in samples if quarter <= sample[0] < 2 * quarter]
    late = [sample for sample in samples if sample[0] >= runs - quarter]
    if runs < 8 or not early or not late:
        turn.notes.append(f"{runs} runs: too few to judge memory")
        return
    # The least is what is kept between runs.
    memory = min(sample[1] for sample in late) - min(sample[1] for sample in early)
    opened = min(sample[2] for sample in late) - min(sample[2] for sample in early)
    allowed = min(GROWTH_AT_MOST_KIB, GROWTH_PER_RUN_KIB * runs)
    turn.notes.append(f"memory {min(sample[1] for sample in late)} KiB, grew {memory} KiB in {runs} runs")
    if memory > allowed:
        raise Violation(f"the controller's memory grew by {memory} KiB over {runs} runs")
    if opened > 0:
        raise Violation(f"the controller kept {opened} descriptors more after {runs} runs")


# Disturbances


def in_small_disk(turn: Round, command: list[str]) -> list[str]:
    """The command, with a tmpfs that is soon full in place of the results, in a mount namespace of its own."""
    size_kib = turn.random.choice((8, 24, 64, 256))
    turn.results.mkdir(exist_ok=True)
    script = f"mount -t tmpfs -o size={size_kib}k soak {shlex.quote(str(turn.results))} && exec {shlex.join(command)}"
    turn.notes.append(f"disk of {size_kib} KiB")
    return ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script]


def disturb(turn: Round, process: subprocess.Popen) -> None:
    if turn.disturbance == "terminate":
        process.send_signal(signal.SIGTERM)
    elif turn.disturbance == "kill controller":
        process.kill()
    elif turn.disturbance == "kill worker":
        workers = [each for each in marked_processes(turn.mark) if name_of(each).startswith(WORKER)]
        if not workers:
            turn.notes.append("no worker to kill")
            return
        try:
            os.kill(turn.random.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            turn.notes.append("the worker had ended")


def sample_of(turn: Round, log: Path) -> list[tuple[int, int, int]]:
    """Returns the runs so far, and the memory and descriptors of the controller's processes; empty if it has ended."""
    processes = [each for each in marked_processes(turn.mark) if not name_of(each).startswith(WORKER)]
    values = [(memory_kib(each), descriptors(each)) for each in processes]
    known = [(memory, opened) for memory, opened in values if memory is not None and opened is not None]
    if not known:
        return []
    return [(starts_in(log).total(), sum(memory for memory, _ in known), sum(opened for _, opened in known))]


def watch(turn: Round, process: subprocess.Popen, log: Path, disturb_after_s: float | None) -> list[tuple[int, int, int]]:
    """Waits for the command, disturbs it once, and samples the controller of a long sweep."""
    began = time.monotonic()
    samples = []
    while process.poll() is None:
        elapsed = time.monotonic() - began
        if elapsed > ROUND_LIMIT_S:
            raise Violation(f"the command still runs after {ROUND_LIMIT_S:.0f} s")
        if disturb_after_s is not None and elapsed >= disturb_after_s:
            disturb(turn, process)
            disturb_after_s = None
        if turn.is_long:
            samples += sample_of(turn, log)
        time.sleep(SAMPLE_EVERY_S)
    return samples


def run_command(turn: Round, name: str, *, more: tuple[str, ...] = (), disturbed: bool = False) -> tuple[int, list]:
    command = turn.command(more)
    is_starved = disturbed and turn.disturbance == "full disk"
    after_s = turn.random.uniform(0.1, 12.0) if disturbed and turn.disturbance not in ("nothing", "planned fault") else None
    if is_starved:
        command, after_s = in_small_disk(turn, command), None
    log = turn.folder / f"{name}.log"
    complete = {} if is_starved else completed_records(turn.results)
    with log.open("wb") as errors, (turn.folder / f"{name}.out").open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=turn.environment(), stdin=subprocess.DEVNULL)
        try:
            samples = watch(turn, process, log, after_s)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    check_records_stay(complete)
    if not is_starved:  # that disk is gone, and its records with it
        check_starts(turn, starts_in(log), labels_of(complete))
    return process.returncode, samples


# Rounds


def do_round(turn: Round) -> None:
    (turn.folder / "tmp").mkdir()
    turn.disturbance = "nothing" if turn.is_long else turn.random.choice(KILL_BY)
    turn.experiment = make_experiment(turn)
    (turn.folder / "soak.json").write_text(json.dumps(turn.experiment, indent=2), encoding="utf-8")
    before = Surroundings.now()
    code, samples = run_command(turn, "first", disturbed=True)
    check_leaks(turn, before)
    if turn.disturbance in ("nothing", "planned fault") and code != 0:
        raise Violation(f"the undisturbed command ended with {code}")
    if turn.disturbance == "nothing" and not turn.starts[0]:
        raise Violation("the undisturbed command started nothing")
    if turn.disturbance == "full disk" and code == 0:
        turn.notes.append("the disk was large enough")
    if turn.is_long:
        check_flat(turn, samples)
    for attempt in range(RESUMES):
        code, _ = run_command(turn, f"resumed-{attempt + 1}", more=("--retry-failed",))
        check_leaks(turn, before)
        if code == 0:
            break
    else:
        raise Violation(f"the resumed command ended with {code}, {RESUMES} times")
    check_complete(turn)
    code, _ = run_command(turn, "further")
    if code != 0 or turn.starts[-1]:
        raise Violation(f"a further command ended with {code} and started {sorted(turn.starts[-1])}")
    check_leaks(turn, before)


def describe(turn: Round) -> str:
    base, sweep = turn.experiment.get("base", {}), turn.experiment.get("sweep", {})
    modes = sweep.get("mode", [])
    started = sum((starts.total() for starts in turn.starts), 0)
    return f"{base.get('topology', 'no network')}, {'+'.join(modes)}, {started} starts"


def rounds(options: argparse.Namespace, folder: Path) -> Iterator[Round]:
    end = time.monotonic() + options.minutes * 60
    number = options.round or 1
    while True:
        own = folder / f"round-{options.seed}-{number}"
        own.mkdir()
        chance = random.Random(f"{options.seed}:{number}")
        yield Round(options.seed, number, own, options.program, chance, number % LONG_EVERY == 1, options.patience)
        number += 1
        if options.round or time.monotonic() >= end:
            return


def summarise(counts: Counter[str], notes: list[str], began: float) -> None:
    print(f"\n{sum(counts.values())} rounds in {(time.monotonic() - began) / 60:.1f} min")
    for name, count in sorted(counts.items()):
        print(f"  {name:18} {count:4}")
    for note in notes:
        print(f"  {note}")


def soak(options: argparse.Namespace, folder: Path) -> int:
    counts: Counter[str] = Counter()
    memory: list[str] = []
    began = time.monotonic()
    for turn in rounds(options, folder):
        since = time.monotonic()
        problem = None
        try:
            do_round(turn)
        except Violation as violation:
            problem = violation
        kind = "long sweep" if turn.is_long else turn.disturbance
        counts[kind] += 1
        state = "VIOLATED" if problem else "ok"
        print(f"round {turn.number:4}  {kind:16} {describe(turn):44} {time.monotonic() - since:6.1f} s  {state}"
              f"  {'; '.join(turn.notes)}", flush=True)
        if turn.is_long:
            memory += [f"round {turn.number}: {note}" for note in turn.notes]
        if problem:
            summarise(counts, memory, began)
            print(f"soak: round {turn.number}: {problem}\nsoak: evidence: {turn.folder}\n"
                  f"soak: again: scripts/soak.py --seed {turn.seed} --round {turn.number}", file=sys.stderr)
            return 1
        shutil.rmtree(turn.folder)
    summarise(counts, memory, began)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    duration = parser.add_mutually_exclusive_group()
    duration.add_argument("--hours", type=float, help="how long (default: 6)")
    duration.add_argument("--minutes", type=float, help="likewise; the round that has begun is completed")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6), help="of all rounds")
    parser.add_argument("--round", type=int, help="only this round")
    parser.add_argument("--program", type=Path, default=ROOT / "build" / "release" / "thinpipe")
    parser.add_argument("--patience", type=float, default=20, help="seconds until what a command left behind must be gone")
    parser.add_argument("--folder", type=Path, help="for experiments, results and evidence (default: a new one)")
    options = parser.parse_args()
    if options.minutes is None:
        options.minutes = 60 * (6 if options.hours is None else options.hours)
    options.program = options.program.resolve()
    if not os.access(options.program, os.X_OK):
        parser.error(f"--program {options.program}: there is no such program; build it, or name another")
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="thinpipe-soak-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, in {folder}", flush=True)
    code = soak(options, folder)
    if code == 0 and not any(folder.iterdir()):
        folder.rmdir()
    return code


if __name__ == "__main__":
    sys.exit(main())
