# SPDX-License-Identifier: Apache-2.0
"""Tests help_pages.py with the programs in THINPIPE_PROGRAMS: pages, manual pages and completions."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import help_pages  # noqa: E402
from help_texts.command import Entry, parse, run  # noqa: E402

PROGRAMS = Path(os.environ["THINPIPE_PROGRAMS"]).resolve()


class ParseTest(unittest.TestCase):
    def test_specifications(self) -> None:
        entry = Entry("--log-level TEXT:{debug,info}=info", "Verbosity")
        self.assertEqual((entry.names, entry.choices, entry.repeats), (["--log-level"], ["debug", "info"], False))
        self.assertEqual(Entry("--idle-cores awake|may-sleep", "").choices, ["awake", "may-sleep"])
        self.assertEqual(Entry("kind KIND REQUIRED", "models, datasets").choices, ["models", "datasets"])
        self.assertEqual(Entry("--run ID Needs: --perfetto", "").value, "ID")
        self.assertEqual(Entry("--run Excludes: --all", "").value, "")
        self.assertTrue(Entry("--set PATH=VALUE ...", "").repeats)

    def test_descriptions_beside_and_below(self) -> None:
        below = "  --a-rather-long-option LONG-VALUE\n" + " " * 30 + "Text\n"
        command = parse("x", "X\nUsage: x\n\nOptions:\n  --hang-timeout DURATION=8 s Beside\n" + below + "  --bare\n")
        self.assertEqual(
            [(each.spec, each.text) for each in command.entries("Options")],
            [("--hang-timeout DURATION=8 s", "Beside"), ("--a-rather-long-option LONG-VALUE", "Text"), ("--bare", "")],
        )

    def test_lines_of_another_form_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "x --help has an unexpected line: surprise"):
            parse("x", "X\nUsage: x\n\nsurprise\n")


class PagesTest(unittest.TestCase):
    def test_the_committed_pages_are_the_programs_output(self) -> None:
        self.assertEqual(help_pages.main(["--check", "--programs", str(PROGRAMS)]), 0)

    def test_every_option_is_on_the_page(self) -> None:
        page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
        for command in ("run", "report", "tokenize"):
            section = page.partition(f"\n### thinpipe {command}\n")[2].partition("\n### ")[0]
            for option in re.findall(r"^  (--\w[\w-]*)", run(PROGRAMS / "thinpipe", command, "--help"), re.MULTILINE):
                self.assertIn(f"| `{option}", section)


class FilesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.temporary.name)
        help_pages.main(["--output", str(cls.folder), "--programs", str(PROGRAMS)])

    @classmethod
    def tearDownClass(cls) -> None:
        cls.temporary.cleanup()

    def test_manual_pages_are_correct_roff(self) -> None:
        if shutil.which("groff") is None:
            self.skipTest("groff is not installed")
        pages = sorted((self.folder / "man1").iterdir())
        self.assertIn("thinpipe-run.1", [page.name for page in pages])
        for page in pages:
            done = subprocess.run(["groff", "-man", "-ww", "-K", "utf8", "-T", "utf8", page], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)
            self.assertIn("SYNOPSIS", re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout))

    def complete(self, program: str, *words: str) -> list[str]:
        """Returns what bash offers for the last word."""
        script = f"""source {self.folder / "bash" / program}
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_{program.replace("-", "_")}
printf '%s\\n' "${{COMPREPLY[@]}}\""""
        command = ["bash", "-uc", script, "bash", str(PROGRAMS / program), *words]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=self.folder)
        return done.stdout.split()

    def test_bash_completes_commands_options_values_and_files(self) -> None:
        (self.folder / "mine.json").touch()
        self.assertEqual(self.complete("thinpipe", "ver"), ["verify"])
        self.assertIn("report", self.complete("thinpipe", ""))
        self.assertEqual(self.complete("thinpipe", "run", "--retry-f"), ["--retry-failed"])
        self.assertEqual(self.complete("thinpipe", "plan", "--retry-f"), [])
        self.assertEqual(self.complete("thinpipe", "run", "--log-level", "de"), ["debug"])
        self.assertEqual(self.complete("thinpipe", "list", "syn"), ["synchronisers"])
        self.assertEqual(self.complete("thinpipe", "run", "mi"), ["mine.json"])
        self.assertEqual(self.complete("thinpipe", "verify", "three-s"), ["three-switch"])
        self.assertEqual(self.complete("thinpipe-trainer", "check", "--l"), ["--lines"])
        self.assertEqual(self.complete("thinpipe-trainer", "work", "mi"), ["mine.json"])

    def test_zsh_accepts_its_completions(self) -> None:
        if shutil.which("zsh") is None:
            self.skipTest("zsh is not installed")
        for file in (self.folder / "zsh").iterdir():
            subprocess.run(["zsh", "-n", file], check=True)


if __name__ == "__main__":
    unittest.main()
