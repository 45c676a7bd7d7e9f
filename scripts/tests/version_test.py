# SPDX-License-Identifier: Apache-2.0
"""The version has one place, CMakeLists.txt; pip reads it there, and what repeats it agrees."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


class VersionTest(unittest.TestCase):
    def setUp(self):
        self.version = re.search(r"^project\(thinpipe VERSION (\d+\.\d+\.\d+)", read("CMakeLists.txt"), re.M)[1]

    def test_pip_reads_it_there(self):
        pyproject = read("pyproject.toml")
        pattern = re.search(r"^regex = '(.*)'$", pyproject, re.M)[1]
        self.assertEqual(re.search(pattern, read("CMakeLists.txt"))["value"], self.version)
        self.assertIn('dynamic = ["version"]', pyproject)
        self.assertNotRegex(pyproject, r"(?m)^version\b")

    def test_the_citation_agrees(self):
        self.assertEqual(re.search(r"^version: (.*)$", read("CITATION.cff"), re.M)[1], self.version)


if __name__ == "__main__":
    unittest.main()
