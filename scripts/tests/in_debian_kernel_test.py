# SPDX-License-Identifier: Apache-2.0
"""Runs commands on Debian's kernel with scripts/in_debian_kernel.sh.

Usage: in_debian_kernel_test.py PATH/thinpipe
Exits with 77 and the reason if the virtual machine cannot start.
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class InDebianKernelTest(unittest.TestCase):
    def setUp(self):
        # Below the source folder: the machine has its own /tmp.
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(dir=ROOT / "build")))

    def call(self, *command):
        script = [ROOT / "scripts/in_debian_kernel.sh", *map(str, command)]
        ended = subprocess.run(script, cwd=self.folder, capture_output=True, text=True)
        if ended.returncode == 125:
            print("SKIPPED:", ended.stderr)
            sys.exit(77)
        return ended

    def test_a_command_changes_its_folder_only_and_its_status_is_passed_on(self):
        ended = self.call("bash", "-c", 'uname -r >"kernel release"; touch "$0"; pwd; exit 3', ROOT / "README.md.new")
        self.assertEqual(ended.returncode, 3, ended.stdout + ended.stderr)
        self.assertRegex((self.folder / "kernel release").read_text(), r"^[0-9.-]+-amd64\n$")
        self.assertFalse((ROOT / "README.md.new").exists())
        self.assertIn("Read-only file system", ended.stdout)
        self.assertIn(str(self.folder), ended.stdout)

    def test_links_have_delay(self):
        ended = self.call(THINPIPE, "exec", "sites", "--", "true")
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)

    def test_without_a_command_it_says_how_to_use_it(self):
        ended = subprocess.run([ROOT / "scripts/in_debian_kernel.sh"], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 2)
        self.assertIn("scripts/in_debian_kernel.sh build/release/thinpipe run", ended.stdout)


if __name__ == "__main__":
    THINPIPE = sys.argv.pop(1)
    unittest.main(verbosity=2)
