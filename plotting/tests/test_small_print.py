# SPDX-License-Identifier: Apache-2.0
import unittest

import pandas as pd

from shared.small_print import network_of


class SmallPrintTest(unittest.TestCase):
    def test_bursts_are_in_order_of_size(self) -> None:
        links = [{"bottleneck": True, "rate": "1 Gbit/s", "burst": burst} for burst in ("16 kB", "9 kB", "100 kB")]
        runs = pd.DataFrame({"config.collective.name": [None], "config.topology.links": [links]})
        self.assertIn("burst 9 kB, 16 kB, 100 kB", list(network_of(runs)))


if __name__ == "__main__":
    unittest.main()
