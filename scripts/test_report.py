#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the slowest tests of a test run, and the reasons of skipped ones, from its JUnit file.

Usage: test_report.py build/tests/tests.xml
"""

import re
import sys
from xml.etree import ElementTree

SLOWEST = 10


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tests = ElementTree.parse(sys.argv[1]).getroot().findall("testcase")
    for test in sorted(tests, key=lambda test: -float(test.get("time", 0)))[:SLOWEST]:
        print(f"{float(test.get('time', 0)):8.1f} s  {test.get('name')}")
    for test in tests:
        if test.find("skipped") is not None or test.get("status") in ("notrun", "disabled"):
            output = test.findtext("system-out") or ""
            reasons = re.findall(r"Skipped\n(.+)|SKIPPED: (.+)", output)
            reason = "; ".join(a or b for a, b in reasons) or "no reason given: see the test's output"
            print(f"skipped: {test.get('name')}: {reason}")


if __name__ == "__main__":
    main()
