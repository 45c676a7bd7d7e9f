#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/reference/record-fields.md from the schema of records, harness/schema/record.schema.json.

    scripts/record_fields.py --update
    scripts/record_fields.py --check     exits with 1 if the page is out of date
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCHEMA = ROOT / "harness" / "schema" / "record.schema.json"
PAGE = ROOT / "docs" / "reference" / "record-fields.md"
LARGEST_EXACT = 2**53  # a bound that only says that any JSON parser can hold the number
HEAD = """# Fields of a record

Every member of `run.json`, from its JSON Schema, which `build/release/thinpipe schema record` prints.
[Records](records.md) describes the files of a run and where values come from, [metrics](metrics.md) defines times, ratios and bytes.
Members marked *optional* are missing from older records, or where they do not apply.
`[]` stands for each entry of an array, `*` for each member of an object whose names the run decides.
`scripts/record_fields.py` writes this page.
"""


class Schema:
    def __init__(self, text: str) -> None:
        self.root = json.loads(text)

    def resolved(self, node: dict) -> dict:
        """Returns the node with what it refers to; its own keywords come first."""
        merged: dict = {}
        parts = [node, *node.get("allOf", [])]
        if "$ref" in node:
            parts.append(self.root["definitions"][node["$ref"].rsplit("/", 1)[1]])
        for part in parts:
            if part is not node:
                part = self.resolved(part)
            merged = {**part, **merged}
        return merged

    def alternatives(self, node: dict) -> list[dict]:
        return [self.resolved(each) for each in node.get("anyOf", node.get("oneOf", []))]

    def rows(self, node: dict, path: str) -> Iterator[tuple[str, dict, bool]]:
        """Yields the path of each member below the node, the member, and whether it is required."""
        node = self.resolved(node)
        for each in (node, *self.alternatives(node)):
            for name, child in each.get("properties", {}).items():
                child = self.resolved(child)
                own = f"{path}.{name}" if path else name
                yield own, child, name in each.get("required", [])
                yield from self.rows(child, own)
            for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
                if isinstance(each.get(key), dict):
                    child = self.resolved(each[key])
                    if "description" in child and "properties" not in child:
                        yield path + mark, child, True
                    yield from self.rows(child, path + mark)

    def kind(self, node: dict) -> str:
        if alternatives := self.alternatives(node):
            return " or ".join(dict.fromkeys(self.kind(each) for each in alternatives))
        if "enum" in node:
            return ", ".join(f"`{json.dumps(each) if each is None else each}`" for each in node["enum"])
        kinds = node.get("type", "any")
        text = " or ".join(kinds) if isinstance(kinds, list) else kinds
        if kinds == "array" and "items" in node:
            inner = self.kind(self.resolved(node["items"]))
            text = f"array of {inner}s" if inner.isalpha() and inner != "any" else "array"
        if "unit" in node:
            text += f", {node['unit']}"
        return text + self.bounds(node)

    @staticmethod
    def bounds(node: dict) -> str:
        words = {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}
        told = [f"{word} {node[key]:g}" for key, word in words.items() if key in node and abs(node[key]) < LARGEST_EXACT]
        if "minimum" in node and node["minimum"] == node.get("maximum"):
            told = [f"{node['minimum']:g}"]
        return f" ({', '.join(told)})" if told else ""


def page() -> str:
    schema = Schema(SCHEMA.read_text(encoding="utf-8"))
    required = set(schema.root["required"])
    out = HEAD + heading("The record", [(name, schema.resolved(node), name in required)
                                        for name, node in schema.root["properties"].items()], schema)
    for name, node in schema.root["properties"].items():
        if rows := list(schema.rows(node, name)):
            out += heading(f"`{name}`", rows, schema)
    return out


def heading(title: str, rows: list[tuple[str, dict, bool]], schema: Schema) -> str:
    lines = [f"\n## {title}\n", "| field | type | meaning |", "|---|---|---|"]
    for path, node, is_required in rows:
        meaning = node.get("description", "").replace("|", "\\|")
        parts = [meaning, "" if is_required else "*Optional.*"]
        lines.append(f"| `{path}` | {schema.kind(node)} | {' '.join(filter(None, parts))} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--update", action="store_true")
    what.add_argument("--check", action="store_true")
    if parser.parse_args().update:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page():
        print(f"{PAGE.relative_to(ROOT)} is out of date: run scripts/record_fields.py --update", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
