# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "scripts"))
import sites_topology  # noqa: E402


def run(*arguments: str) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = sites_topology.main(arguments)
    return status, out.getvalue(), err.getvalue()


class SitesTopology(unittest.TestCase):
    def test_the_included_topology_is_the_default(self) -> None:
        self.assertEqual(run()[1], (REPOSITORY / "topologies" / "sites.json").read_text())

    def test_matrices_give_each_pair_its_own_link(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            rates, times = Path(folder, "rates.csv"), Path(folder, "times.csv")
            rates.write_text("0,10 Mbit/s,1 Gbit/s\n20 Mbit/s,0,1 Gbit/s\n1 Gbit/s,1 Gbit/s,0\n")
            times.write_text("0,80 ms,1 ms\n80 ms,0,1 s\n1 ms,1 s,0\n")
            status, text, _ = run("--sites", "3", "--workers", "1", "--rate", str(rates), "--round-trip", str(times))
        self.assertEqual(status, 0)
        topology = json.loads(text)
        self.assertEqual(topology["hosts"], {"w": 3})
        self.assertEqual(topology["links"][1], {"between": ["w1", "site1"]})
        slow, near, far = topology["links"][3:]
        self.assertEqual(slow["rate"], "10 Mbit/s")
        self.assertEqual(slow["backward"], {"rate": "20 Mbit/s"})
        self.assertEqual(slow["queue"], "200 kB", "20 Mbit/s for 80 ms")
        self.assertEqual((near["delay"], far["delay"]), ("0.5 ms", "500 ms"))
        self.assertNotIn("backward", far)

    def test_wrong_input_is_refused_by_name(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            matrix = Path(folder, "matrix.csv")
            matrix.write_text("0,80 ms\n70 ms,0\n")
            for arguments, message in {
                ("--sites", "1"): "--sites must be at least 2",
                ("--round-trip", "80"): "--round-trip: '80' must be a number with one of the units us, ms, s",
                ("--rate", "fast.csv"): "No such file or directory: 'fast.csv'",
                ("--round-trip", str(matrix)): "must have 4 rows of 4 entries",
                ("--round-trip", str(matrix), "--sites", "2"): "is 80 ms in row 0, but 70 ms in row 1",
            }.items():
                status, text, error = run(*arguments)
                self.assertEqual((status, text), (2, ""))
                self.assertIn(message, error)


if __name__ == "__main__":
    unittest.main()
