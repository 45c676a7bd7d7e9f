"""Estimates a profile with scripts/compute_profiles.py, whose measurements need a GPU.

Usage: compute_profiles_test.py PATH/thinpipe-trainer
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class ComputeProfilesTest(unittest.TestCase):
    def call(self, *arguments):
        command = [ROOT / "scripts/compute_profiles.py", "--trainer", TRAINER, "--output", self.folder, *arguments]
        return subprocess.run(command, capture_output=True, text=True)

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_an_estimate_is_a_profile_of_the_named_device(self):
        ended = self.call("--estimate", ROOT / "trainer/profiles/h100.json", "--only", "resnet18-*")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        (file,) = Path(self.folder).iterdir()
        profile = json.loads(file.read_text())
        self.assertEqual(file.name, "resnet18-estimated.json")
        self.assertEqual((profile["origin"], profile["device"]["name"]), ("estimated", "NVIDIA H100 SXM"))
        # ResNet18 multiplies and adds 0.56 billion times per image of 32 x 32 and pass; backward takes two passes.
        self.assertAlmostEqual(profile["device"]["flops"] / (2 * 3 * 32 * 0.556e9), 1, delta=0.05)

    def test_an_unknown_name_is_refused(self):
        ended = self.call("--only", "resnet19-*")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("resnet19-*: no profile has such a name", ended.stderr)


if __name__ == "__main__":
    TRAINER = sys.argv.pop(1)
    unittest.main(verbosity=2)
