# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import report_block
from noise import UNMEASURED

from .records import make_record, write


class ReportBlockTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_puts_what_a_terminal_shows_between_the_markers(self) -> None:
        results = write(self.folder / "quickstart", make_record("dense"), make_record("fp16"))
        page = self.folder / "README.md"
        page.write_text("before\n<!-- quickstart: begin -->\nold\n<!-- quickstart: end -->\nafter\n")
        self.assertEqual(report_block.main([str(results), "--update", str(page)]), 0)
        lines = page.read_text().splitlines()
        self.assertEqual(lines[:4], ["before", "<!-- quickstart: begin -->", "", "```"])
        self.assertRegex(lines[4], "^method +target +time to target")
        self.assertEqual([line.split()[0] for line in lines[5:7]], ["dense", "fp16"])
        self.assertEqual(lines[-5:], [UNMEASURED, "```", "", "<!-- quickstart: end -->", "after"])

    def test_several_seeds_have_one_line_each_method(self) -> None:
        records = [make_record(method, seed=seed) for method in ("dense", "fp16") for seed in (1, 2)]
        results = write(self.folder / "quickstart", *records)
        page = self.folder / "README.md"
        page.write_text("<!-- quickstart: begin -->\n<!-- quickstart: end -->\n")
        self.assertEqual(report_block.main([str(results), "--update", str(page)]), 0)
        lines = page.read_text().splitlines()
        self.assertTrue(lines[3].startswith("over seeds"), lines[3])
        self.assertEqual(sorted(line.split()[0] for line in lines[4:6]), ["dense", "fp16"])

    def test_refuses_what_the_report_refuses(self) -> None:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors):
            self.assertEqual(report_block.main([str(self.folder)]), 2)
        self.assertIn("has no records", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
