# SPDX-License-Identifier: Apache-2.0
"""What the machine has beside our files: processes, mounts, network devices, shared memory."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WORKER = "thinpipe-train"  # the beginning that the kernel keeps of its name


def is_worker(process: int) -> bool:
    return name_of(process).startswith(WORKER)


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


def descriptors(process: int) -> Counter[str]:
    """Counts the open descriptors by what they show: a file's name or a kind such as "socket", without numbers."""
    kinds: Counter[str] = Counter()
    with contextlib.suppress(OSError):  # the process, or one descriptor, has gone
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with contextlib.suppress(OSError):
                kinds[re.sub(r"[0-9a-f]{16}|\d+", "#", Path(os.readlink(descriptor)).name)] += 1
    return kinds


def eventually(holds: Callable[[], bool], within_s: float) -> bool:
    end = time.monotonic() + within_s
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def mounts() -> set[str]:
    """Returns the mount points that may be ours: other programs of the machine mount, too."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return {point for point in (line.split()[4] for line in lines) if "thinpipe" in point}


def shared_memory_in_use(processes: Path = Path("/proc")) -> set[int]:
    """Returns the inodes in /dev/shm that processes have open or mapped. Names do not tell: sem_open() renames its file."""
    used = set()
    for process in processes.glob("[0-9]*"):
        # Any process may end between two of these calls; what it had open is then no longer in use.
        with contextlib.suppress(OSError):
            lines = (process / "maps").read_text(encoding="utf-8").splitlines()
            used.update(int(line.split()[4]) for line in lines if "/dev/shm/" in line)
        with contextlib.suppress(OSError):
            used.update(inodes_open_in_shared_memory(list((process / "fd").iterdir())))
    return used


def inodes_open_in_shared_memory(descriptors: list[Path]) -> set[int]:
    inodes = set()
    for descriptor in descriptors:
        with contextlib.suppress(OSError):  # it may be closed meanwhile
            if os.readlink(descriptor).startswith("/dev/shm/"):
                inodes.add(descriptor.stat().st_ino)
    return inodes


def shared_memory() -> dict[str, int]:
    """Returns the inodes of the files in /dev/shm."""
    inodes = {}
    for path in Path("/dev/shm").rglob("*"):
        try:
            inodes[str(path)] = path.stat().st_ino
        except OSError:
            continue  # it has just gone
    return inodes


@dataclass
class Surroundings:
    mounts: set[str]
    devices: set[str]
    shared: dict[str, int]

    @staticmethod
    def now() -> Surroundings:
        return Surroundings(mounts(), set(os.listdir("/sys/class/net")), shared_memory())

    def new_since(self, before: Surroundings) -> list[str]:
        new = [f"mount {each}" for each in self.mounts - before.mounts]
        new += [f"network device {each}" for each in self.devices - before.devices]
        # Other programs of this machine may use /dev/shm meanwhile.
        if shared := self.shared.items() - before.shared.items():
            used = shared_memory_in_use()
            new += [f"file {path}" for path, inode in shared if inode not in used]
        return sorted(new)
