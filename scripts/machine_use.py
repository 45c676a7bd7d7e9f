# SPDX-License-Identifier: Apache-2.0
"""How much memory and disk something takes on a machine with nothing else on it."""

from __future__ import annotations

import re
import shutil
import threading
from pathlib import Path

SAMPLE_EVERY_S = 0.1


def used_memory_bytes(info: str | None = None) -> int:
    """Returns how much memory cannot be had, from the text of /proc/meminfo."""
    info = info or Path("/proc/meminfo").read_text(encoding="ascii")
    total, available = (int(re.search(rf"^{key}: +(\d+) kB$", info, re.MULTILINE)[1]) for key in ("MemTotal", "MemAvailable"))
    return 1024 * (total - available)


class MachineUse:
    """In a `with` block, watches the machine. Afterwards has the most memory in use at a time, and how much more of the
    disk of `folder` is in use, each relative to the beginning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory_bytes = 0
        self.disk_bytes = 0

    def __enter__(self) -> MachineUse:
        self._memory_before = used_memory_bytes()
        self._disk_before = shutil.disk_usage(self.folder).used
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watcher.join()
        self.disk_bytes = max(0, shutil.disk_usage(self.folder).used - self._disk_before)

    def _watch(self) -> None:
        while not self._ended.wait(SAMPLE_EVERY_S):
            self.memory_bytes = max(self.memory_bytes, used_memory_bytes() - self._memory_before)
