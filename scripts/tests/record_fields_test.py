# SPDX-License-Identifier: Apache-2.0
"""Tests record_fields.py, and that its page shows the whole schema."""

import json
import re
import sys
import unittest
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import record_fields  # noqa: E402
from record_fields import Schema  # noqa: E402

SMALL = {
    "required": ["a"],
    "properties": {
        "a": {"allOf": [{"$ref": "#/definitions/part"}], "description": "Of the record."},
        "b": {"type": "array", "items": {"$ref": "#/definitions/part"}, "description": "Several."},
        "c": {"type": "object", "additionalProperties": {"type": ["number", "null"], "description": "By link."}},
        "d": {"oneOf": [{"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 1}]},
    },
    "definitions": {
        "part": {"type": ["object", "null"], "description": "Of the part.", "required": ["x"],
                 "properties": {"x": {"type": "number", "unit": "s", "minimum": 0}, "y": {"enum": ["one", None]}}},
    },
}


def names_in(node: object) -> Iterator[str]:
    """Yields the names of all members that a schema describes, wherever they are."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for child in node.values():
            yield from names_in(child)
    elif isinstance(node, list):
        for child in node:
            yield from names_in(child)


class RecordFieldsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.schema = Schema(json.dumps(SMALL))

    def test_paths_say_how_members_are_nested(self) -> None:
        rows = [(path, is_required) for path, _, is_required in self.schema.rows(SMALL, "")]
        self.assertEqual(rows, [("a", True), ("a.x", True), ("a.y", False), ("b", False), ("b[].x", True), ("b[].y", False),
                                ("c", False), ("c.*", True), ("d", False)])

    def test_a_reference_brings_what_its_place_does_not_say(self) -> None:
        node = self.schema.resolved(SMALL["properties"]["a"])
        self.assertEqual(node["description"], "Of the record.")
        self.assertEqual(self.schema.kind(node), "object or null")

    def test_types_have_units_bounds_and_values(self) -> None:
        kinds = {path: self.schema.kind(node) for path, node, _ in self.schema.rows(SMALL, "")}
        self.assertEqual(kinds["a.x"], "number, s (at least 0)")
        self.assertEqual(kinds["a.y"], "`one`, `null`")
        self.assertEqual(kinds["d"], "string or integer (1)")

    def test_the_page_is_up_to_date_and_has_every_member(self) -> None:
        text = record_fields.PAGE.read_text(encoding="utf-8")
        self.assertEqual(text, record_fields.page(), "run scripts/record_fields.py --update")
        shown = set(re.findall(r"^\| `(?:[^`]*\.)?([^`.\[]+)", text, re.MULTILINE))
        known = set(names_in(json.loads(record_fields.SCHEMA.read_text(encoding="utf-8"))))
        self.assertEqual(known - shown, set())


if __name__ == "__main__":
    unittest.main()
