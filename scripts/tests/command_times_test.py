# SPDX-License-Identifier: Apache-2.0
"""Tests command_times.py, and that its page has every command of the pages that it measures."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import command_times  # noqa: E402


class CommandTimesTest(unittest.TestCase):
    def test_a_command_is_named_without_its_comment_and_line_breaks(self) -> None:
        self.assertEqual(command_times.plain("./check.sh     # runs the tests\n"), "./check.sh")
        self.assertEqual(command_times.plain("a --set 'x=1' \\\n  --more"), "a --set 'x=1' --more")
        self.assertEqual(command_times.plain("a --html b.html # a page"), "a --html b.html")
        self.assertEqual(command_times.plain("thinpipe run --only 'a #b' c#d"), "thinpipe run --only 'a #b' c#d")

    def test_times_have_the_precision_that_one_measurement_has(self) -> None:
        shown = [command_times.readable(seconds) for seconds in (0.2, 1.4, 89, 91, 3599)]
        self.assertEqual(shown, ["below 1 s", "1 s", "89 s", "2 min", "60 min"])

    def test_a_page_lists_its_commands_with_a_time_or_the_reason_for_none(self) -> None:
        page = command_times.ROOT / "docs" / "how-to" / "looking-inside.md"
        doctor = "build/release/thinpipe doctor"
        entry = {"seconds": 3.2, "memory_bytes": 2_340_000_000, "disk_bytes": 99_000_000, "machine": "a machine", "commit": "abc", "date": "2026-11-28"}
        text = command_times.table({command_times.key_of(page, doctor): entry})
        self.assertIn("\nMachine: a machine; commit: abc; 2026-11-28.\n", text)
        self.assertIn("| `build/release/thinpipe doctor` | 3 s | 2.3 GB |  |", text)
        self.assertIn("--host w3` | until you leave the shell |  |  |", text)
        self.assertIn("not measured yet", text)
        self.assertEqual(text.count("| 3 s |"), 1, "the same command of another page has a time of its own")

    def test_the_page_on_installing_has_what_was_measured_for_the_first_commands(self) -> None:
        entry = {"seconds": 120, "memory_bytes": 1_340_000_000, "disk_bytes": 9_000_000}
        text = command_times.with_needs("a\n<!-- needs: begin -->\nold\n<!-- needs: end -->\nb\n", {("README.md", "build/release/thinpipe run my.json"): entry})
        self.assertTrue(text.startswith("a\n<!-- needs: begin -->\n\n| for |"), text)
        self.assertTrue(text.endswith("|\n\n<!-- needs: end -->\nb\n"), text)
        self.assertIn("| `build/release/thinpipe run my.json` | 1.3 GB | below 0.1 GB | 2 min |", text)
        self.assertIn("| `./quickstart.sh` |  |  | not measured yet |", text)
        self.assertNotIn("old", text)

    def test_sizes_that_older_measurements_lack_are_not_small_ones(self) -> None:
        self.assertEqual(command_times.size_of({"seconds": 3.2}, "memory_bytes"), "-")
        self.assertEqual(command_times.size_of({"memory_bytes": 2_000_000}, "memory_bytes"), "")
        self.assertEqual(command_times.size_of(None, "memory_bytes"), "")

    def test_the_page_is_up_to_date(self) -> None:
        self.assertEqual(command_times.check(command_times.read_times()), 0)


if __name__ == "__main__":
    unittest.main()
