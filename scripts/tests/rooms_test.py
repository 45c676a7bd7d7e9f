# SPDX-License-Identifier: Apache-2.0
"""The plan of rooms holds for the sources, and scripts/rooms.py notices where it would not."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import rooms  # noqa: E402


class Plan(unittest.TestCase):
    def test_holds_for_the_sources(self) -> None:
        self.assertEqual(rooms.judge(ROOT), [])

    def test_has_no_room_that_is_gone(self) -> None:
        for name, part in rooms.PARTS.items():
            for room in part.rooms:
                self.assertTrue((ROOT / name / room).is_dir(), f"{name}/{room}")


class Judge(unittest.TestCase):
    def problems(self, *includes: tuple[str, str]) -> list[str]:
        """What is wrong with a tree whose files include one header each."""
        with tempfile.TemporaryDirectory() as folder:
            for file, header in includes:
                path = Path(folder) / file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f'#include "{header}"\n')
            return rooms.judge(Path(folder))

    def test_an_arrow_along_the_data_is_well(self) -> None:
        self.assertEqual(self.problems(("netem/kernel/link.cc", "netem/topology/link_shape.hh")), [])

    def test_names_an_arrow_that_points_back(self) -> None:
        found = self.problems(("netem/topology/link_shape.cc", "netem/kernel/link.hh"))
        self.assertEqual(
            found, ["netem: topology -> kernel points back: netem/topology/link_shape.cc includes netem/kernel/link.hh"]
        )

    def test_names_a_circle(self) -> None:
        found = self.problems(
            ("harness/plan/run.hh", "harness/records/record.hh"), ("harness/records/record.hh", "harness/plan/run.hh")
        )
        self.assertIn("harness: a circle of plan, records", found)

    def test_names_an_unknown_room_and_a_part_that_may_not_be_used(self) -> None:
        found = self.problems(("trainer/attic/old.cc", "netem/topology/link_shape.hh"))
        self.assertIn("trainer/attic is not among the rooms of PARTS", found)
        self.assertIn("trainer may not include netem/topology/link_shape.hh: trainer/attic/old.cc", found)

    def test_names_a_crowded_folder_and_lets_tests_use_every_room(self) -> None:
        crowd = [(f"netem/topology/tests/{i}_test.cc", "netem/fidelity/monitor.hh") for i in range(41)]
        self.assertEqual(self.problems(*crowd), ["netem/topology/tests holds 41 sources; at most 40"])


if __name__ == "__main__":
    unittest.main()
