# SPDX-License-Identifier: Apache-2.0
import itertools
import sys
import time
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import machine_use  # noqa: E402


class MachineUseTest(unittest.TestCase):
    def test_memory_in_use_is_what_cannot_be_had(self) -> None:
        info = "MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    700 kB\n"
        self.assertEqual(machine_use.used_memory_bytes(info), 300 * 1024)
        self.assertGreater(machine_use.used_memory_bytes(), 0)

    def test_memory_counts_at_its_peak_and_disk_at_the_end(self) -> None:
        memory = itertools.chain([100, 400, 900], itertools.repeat(300))
        disk = [SimpleNamespace(used=used) for used in (1000, 1700)]
        with (
            mock.patch.object(machine_use, "used_memory_bytes", side_effect=memory),
            mock.patch.object(machine_use.shutil, "disk_usage", side_effect=disk),
            mock.patch.object(machine_use, "SAMPLE_EVERY_S", 0.001),
        ):
            with machine_use.MachineUse(Path("/")) as use:
                while use.memory_bytes < 800:
                    time.sleep(0.001)
        self.assertEqual(use.memory_bytes, 800)
        self.assertEqual(use.disk_bytes, 700)

    def test_what_frees_disk_takes_none(self) -> None:
        disk = [SimpleNamespace(used=used) for used in (1000, 400)]
        with mock.patch.object(machine_use.shutil, "disk_usage", side_effect=disk):
            with machine_use.MachineUse(Path("/")) as use:
                pass
        self.assertEqual(use.disk_bytes, 0)


if __name__ == "__main__":
    unittest.main()
