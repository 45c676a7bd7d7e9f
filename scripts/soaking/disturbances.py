# SPDX-License-Identifier: Apache-2.0
"""Executes a round's commands, and disturbs the first."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from soaking.invariants import Sample, check_records_stay, check_starts, completed_records, labels_of, starts_in
from soaking.surroundings import descriptors, is_worker, marked_processes, memory_kib
from soaking.turn import Round, Violation

COMMAND_LIMIT_S = 900.0
SAMPLE_EVERY_S = 0.1
# Short, so that some sample falls between two runs: there the controller has the least memory.
SAMPLE_LONG_SWEEP_EVERY_S = 0.01


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
        workers = [each for each in marked_processes(turn.mark) if is_worker(each)]
        if not workers:
            turn.notes.append("no worker to kill")
            return
        try:
            os.kill(turn.random.choice(workers), signal.SIGKILL)
        except ProcessLookupError:
            turn.notes.append("the worker had ended")


def sample_of(turn: Round, log: Path) -> list[Sample]:
    """Returns what the controller's processes hold at present; empty if they have ended."""
    processes = [each for each in marked_processes(turn.mark) if not is_worker(each)]
    opened = sum(map(descriptors, processes), Counter())
    # After the descriptors: a process that ends loses its memory first, and must not seem to have closed everything.
    memory = [kib for kib in map(memory_kib, processes) if kib is not None]
    return [Sample(starts_in(log).total(), sum(memory), opened)] if memory else []


def watch(turn: Round, process: subprocess.Popen, log: Path, disturb_after_s: float | None) -> list[Sample]:
    """Waits for the command, disturbs it once, and samples the controller of a long sweep."""
    began = time.monotonic()
    samples = []
    while process.poll() is None:
        elapsed = time.monotonic() - began
        if elapsed > COMMAND_LIMIT_S:
            raise Violation(f"the command still runs after {COMMAND_LIMIT_S:.0f} s")
        if disturb_after_s is not None and elapsed >= disturb_after_s:
            disturb(turn, process)
            disturb_after_s = None
        if turn.is_long:
            samples += sample_of(turn, log)
        time.sleep(SAMPLE_LONG_SWEEP_EVERY_S if turn.is_long else SAMPLE_EVERY_S)
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
