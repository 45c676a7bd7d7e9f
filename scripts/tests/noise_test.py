# SPDX-License-Identifier: Apache-2.0
"""The folders of noise.sh, with made-up programs instead of thinpipe and noise.py."""
from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "noise.sh"
# run EXPERIMENT --only RUN --results FOLDER: leaves the record of one run.
THINPIPE = """#!/bin/sh
folder="$6/$(basename "$2" .json)/$(printf %s "$2 $4" | cksum | cut -d ' ' -f 1)"
mkdir -p "$folder"
echo '{}' > "$folder/run.json"
"""
NOISE = """
import sys
from pathlib import Path
print([len(list(Path(folder).rglob("run.json"))) for folder in sys.argv[1:]])
"""


class NoiseTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name)
        for name, text in (("build/release/thinpipe", THINPIPE), ("plotting/noise.py", NOISE)):
            (self.folder / name).parent.mkdir(parents=True)
            (self.folder / name).write_text(text)
        (self.folder / "build/release/thinpipe").chmod(0o755)
        (self.folder / "scripts").mkdir()
        shutil.copy(SCRIPT, self.folder / "scripts")

    def measure(self, *arguments: str) -> str:
        return subprocess.run([self.folder / "scripts/noise.sh", *arguments], env={**os.environ, "REPETITIONS": "2"},
                              check=True, stdout=subprocess.PIPE, text=True).stdout

    def test_each_folder_has_one_run_whatever_was_measured_before(self) -> None:
        for arguments in ((), ("experiments/other.json",), ("experiments/other.json", "fp16*, 1/2"), ()):
            with self.subTest(arguments):
                self.assertEqual(self.measure(*arguments), "[1, 1]\n")


if __name__ == "__main__":
    unittest.main()
