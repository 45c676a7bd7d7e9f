# SPDX-License-Identifier: Apache-2.0
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from shared import report
from shared.load import load
from shared.report import InputError, Question, find_program

from .records import make_record, write


class ReportTest(unittest.TestCase):
    def setUp(self) -> None:
        self.directory = write(
            Path(self.enterContext(tempfile.TemporaryDirectory())) / "quickstart",
            make_record("dense"),
            make_record("fp16"),
        )
        self.saved = self.directory.with_name("report.json")

    def save(self, *arguments: str) -> None:
        command = [find_program(None), "report", str(self.directory), "--json", *arguments]
        self.saved.write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)

    def assert_refused(self, message: str, **question: object) -> None:
        with self.assertRaisesRegex(InputError, message):
            load(self.directory, Question(saved=self.saved, **question))

    def test_a_saved_report_replaces_the_program(self) -> None:
        self.save("--target=0.8", "--over=fp16")
        with mock.patch.dict(os.environ, {"THINPIPE": "/nowhere"}):
            results = load(self.directory, Question(saved=self.saved))
        asked = load(self.directory, Question(target="0.8"))
        self.assertEqual(results.runs.target_time_s.tolist(), asked.runs.target_time_s.tolist())
        self.assertEqual(results.runs.target.tolist(), [0.8, 0.8])

    def test_a_saved_report_that_does_not_answer_says_how_to_write_one(self) -> None:
        self.assert_refused("cannot be read .* write it with: thinpipe report .*quickstart --json")
        self.save()
        self.assert_refused("has its own target; leave out --target, or write it with: .* --json --target=0.8", target="0.8")
        self.assert_refused("has no speed-ups over DDP; write it with: .* --over=DDP", over=("DDP",))
        newer = json.loads(self.saved.read_text())
        newer["schema_version"] += 1
        self.saved.write_text(json.dumps(newer))
        self.assert_refused("has schema_version 3, but these scripts read 2")
        self.saved.write_text("[]")
        self.assert_refused("is not a report as JSON")

    def test_a_report_of_other_results_is_refused(self) -> None:
        self.save()
        other = write(self.directory.with_name("other"), make_record("dense"))
        with self.assertRaisesRegex(InputError, "other: lacks the run .* make the report of the same results"):
            load(other, Question(saved=self.saved))

    def test_the_program_is_the_option_then_the_environment_then_the_build_then_in_path(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            programs = [Path(folder) / name for name in ("option", "environment", "thinpipe")]
            for program in programs:
                program.touch(mode=0o755)
            with mock.patch.dict(os.environ, {"THINPIPE": str(programs[1]), "PATH": folder}):
                self.assertEqual(find_program(programs[0]), str(programs[0]))
                self.assertEqual(find_program(None), str(programs[1]))
                del os.environ["THINPIPE"]
                with mock.patch.object(report, "BUILT", Path(folder) / "built"):
                    self.assertEqual(find_program(None), str(programs[2]))
                    os.environ["PATH"] = "/nowhere"
                    with self.assertRaisesRegex(InputError, "cannot find the program thinpipe.* build it with"):
                        find_program(None)
            with self.assertRaisesRegex(InputError, "/nowhere, named with --thinpipe .* is not a program"):
                find_program(Path("/nowhere"))


if __name__ == "__main__":
    unittest.main()
