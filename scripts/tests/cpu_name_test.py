# SPDX-License-Identifier: Apache-2.0
"""The names that scripts give to CPUs are those in records (common/protocol/tests/machine_names_test.cc)."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cpu_name import cpu_name  # noqa: E402


def named(name: str, more: str) -> str:
    return cpu_name(f"cpu family\t: 23\nmodel\t\t: 1\nmodel name\t: {name}\ncpu MHz\t\t: 1500.000\n{more}")


class CpuNameTest(unittest.TestCase):
    def test_a_cpu_without_a_number_gets_family_model_and_clock(self) -> None:
        self.assertEqual(named("AMD EPYC", "bogomips\t: 3992.50\n"), "AMD EPYC, family 23, model 1, 2.00 GHz")
        self.assertEqual(named("AMD EPYC", "bogomips\t: ?\n"), "AMD EPYC, family 23, model 1")
        self.assertEqual(named("AMD EPYC", ""), "AMD EPYC, family 23, model 1")
        full = "AMD EPYC 7763 64-Core Processor"
        self.assertEqual(named(full, "bogomips\t: 4890.80\n"), full)

    def test_a_cpu_that_the_kernel_does_not_name_is_unknown(self) -> None:
        self.assertEqual(cpu_name(""), "unknown")


if __name__ == "__main__":
    unittest.main()
