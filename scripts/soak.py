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
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from soaking.disturbances import run_command
from soaking.invariants import check_complete, check_flat, check_leaks
from soaking.surroundings import Surroundings
from soaking.turn import Round, Violation, make_experiment

ROOT = Path(__file__).resolve().parents[1]
RESUMES = 4
LONG_EVERY = 10
DISTURBANCES = ("nothing", "kill controller", "kill worker", "terminate", "planned fault", "full disk")


def do_round(turn: Round) -> None:
    (turn.folder / "tmp").mkdir()
    turn.disturbance = "nothing" if turn.is_long else turn.random.choice(DISTURBANCES)
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


def round_name(seed: int, number: int) -> str:
    return f"round-{seed}-{number}"


def rounds(options: argparse.Namespace, folder: Path) -> Iterator[Round]:
    end = time.monotonic() + options.minutes * 60
    number = options.round or 1
    while True:
        own = folder / round_name(options.seed, number)
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
    first = folder / round_name(options.seed, options.round or 1)
    if first.exists():
        parser.error(f"--folder {folder}: has {first.name} of an earlier soak; remove it, or name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {options.seed}, in {folder}", flush=True)
    code = soak(options, folder)
    if code == 0 and not any(folder.iterdir()):
        folder.rmdir()
    return code


if __name__ == "__main__":
    sys.exit(main())
