# SPDX-License-Identifier: Apache-2.0
import json
import unittest
from pathlib import Path
from typing import Any, Callable

import fastjsonschema

from shared import renamed_names

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "harness" / "schema" / "record.schema.json").read_text(encoding="utf-8"))


def current(record: dict[str, Any]) -> dict[str, Any]:
    """Gives an older record the current names."""
    renamed_names.upgrade(record, "record")
    return record | {"schema_version": SCHEMA["properties"]["schema_version"]["minimum"]}


def committed_records() -> dict[str, dict[str, Any]]:
    """Returns the records in results/reference, with current names, by FILE:LINE."""
    return {
        f"{file.relative_to(ROOT)}:{number}": current(json.loads(line))
        for file in sorted((ROOT / "results" / "reference").glob("*/records.jsonl"))
        for number, line in enumerate(file.read_bytes().splitlines(), 1)
    }


def closed(schema: Any) -> Any:
    """Forbids other members in each schema that describes an object's members, unless it states otherwise.
    Conditions have no "type": they describe only the members to which they apply."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    parts = {key: closed(part) for key, part in schema.items()}
    if {"type", "properties"} <= parts.keys():
        parts.setdefault("additionalProperties", False)
    return parts


def described_members(schema: Any, place: str = "") -> dict[str, Any]:
    """Returns the schemas of all members by their place in the schema."""
    found = {}
    for key, part in schema.items() if isinstance(schema, dict) else ():
        if key in ("properties", "definitions"):
            for name, member in part.items():
                if key == "properties":
                    found[f"{place}/{name}"] = member
                found |= described_members(member, f"{place}/{name}")
        elif key in ("items", "additionalProperties"):
            found |= described_members(part, place)
    return found


class RecordSchemaTest(unittest.TestCase):
    def test_every_committed_record_is_valid_and_has_described_members_only(self) -> None:
        validate: Callable[[Any], Any] = fastjsonschema.compile(closed(SCHEMA))
        records = committed_records()
        self.assertGreater(len(records), 700)
        for place, record in records.items():
            with self.subTest(place):
                validate(record)

    def test_violations_are_found(self) -> None:
        validate = fastjsonschema.compile(SCHEMA)
        record = next(iter(committed_records().values()))
        for place, value in (
            (("status",), "done"),
            (("run_id",), "1"),
            (("curve", 1, "test_accuracy"), 84),
            (("curve", 1, "epoch"), None),
            (("curve", 1, "train_time_s"), -1),
            (("traffic", "sent_bytes_per_worker"), 0.5),
            (("fidelity",), {"verdict": "good", "checks": []}),
            (("config", "targets"), [{"accuracy": 0.5, "test_loss": 1}]),
        ):
            with self.subTest(place=place, value=value):
                wrong = json.loads(json.dumps(record))
                part = wrong
                for key in place[:-1]:
                    part = part[key]
                part[place[-1]] = value
                with self.assertRaises(fastjsonschema.JsonSchemaValueException):
                    validate(wrong)

    def test_every_member_has_a_description_and_the_unit_of_its_name(self) -> None:
        for place, member in described_members(SCHEMA).items():
            with self.subTest(place):
                self.assertTrue(member.get("description", "").endswith("."))
                values = member.get("additionalProperties", member.get("items", member))
                while "items" in values:  # of a matrix
                    values = values["items"]
                if "type" in values and place.endswith("_s"):
                    self.assertEqual(values.get("unit"), "bit/s" if place.endswith("bit_per_s") else "s")
                if "type" in values and place.endswith(("_bytes", "_bytes_per_worker", "_bytes_per_iteration")):
                    self.assertEqual(values.get("unit"), "bytes")


if __name__ == "__main__":
    unittest.main()
