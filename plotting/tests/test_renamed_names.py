# SPDX-License-Identifier: Apache-2.0
"""Tests that documents of older schema versions get their current names, as the programs give them."""
from __future__ import annotations

import copy
import unittest
from unittest import mock

from shared import renamed_names

TABLE = {
    "configuration_at": {"record": "/config"},
    "changes": [
        {
            "schema_versions": {"record": 2},
            "renamed": {
                "configuration": [{"at": "/method/**/codes", "values": {"merged": "summed"}}],
                "record": [{"at": "/wake_ups/most_s", "name": "max_s"}, {"at": "/wake_ups", "name": "latency"}],
            },
        },
        {"schema_versions": {"record": 3}, "renamed": {"record": [{"at": "/checks/*/asked", "name": "specified"}]}},
    ],
}


@mock.patch.object(renamed_names, "renamed_names_table", return_value=TABLE)
class RenamedNames(unittest.TestCase):
    def test_an_old_record_gets_all_changes(self, _table: mock.Mock) -> None:
        record = {
            "schema_version": 1,
            "wake_ups": {"most_s": 0.5},
            "checks": [{"asked": 1}, {}],
            "config": {"method": {"codes": "u32", "inner": {"codes": "merged"}}},
        }
        renamed_names.upgrade(record, "record")
        self.assertEqual(record["latency"], {"max_s": 0.5})
        self.assertEqual(record["checks"], [{"specified": 1}, {}])
        self.assertEqual(record["config"], {"method": {"codes": "u32", "inner": {"codes": "summed"}}})

    def test_a_record_gets_only_changes_newer_than_itself(self, _table: mock.Mock) -> None:
        record = {"schema_version": 2, "wake_ups": {"most_s": 0.5}, "checks": [{"asked": 1}], "config": None}
        expected = {**copy.deepcopy(record), "checks": [{"specified": 1}]}
        renamed_names.upgrade(record, "record")
        self.assertEqual(record, expected)


if __name__ == "__main__":
    unittest.main()
