# SPDX-License-Identifier: Apache-2.0
"""Gives documents of older schema versions their current names. Format: common/support/renamed_names.hh."""
from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any, Iterator

TABLE = Path(__file__).resolve().parents[2] / "common" / "support" / "renamed_names.json"


@functools.cache
def renamed_names_table() -> dict[str, Any]:
    return json.loads(TABLE.read_text(encoding="utf-8"))


def upgrade(document: dict[str, Any], kind: str) -> None:
    """Applies all changes of names that are newer than the document's schema_version, which stays."""
    table = renamed_names_table()
    for change in table["changes"]:
        if document["schema_version"] >= change["schema_versions"].get(kind, 0):
            continue
        configuration = document.get(table["configuration_at"][kind].removeprefix("/"))
        for value, name in ((document, kind), (configuration, "configuration")):
            for entry in change["renamed"].get(name, []):
                rename(value, entry)


def rename(value: Any, entry: dict[str, Any]) -> None:
    path = entry["at"].split("/")[1:]
    for holder in list(holders(value, path)):
        member = holder.pop(path[-1])
        if isinstance(member, str):
            member = entry.get("values", {}).get(member, member)
        holder[entry.get("name", path[-1])] = member


def holders(value: Any, path: list[str]) -> Iterator[dict[str, Any]]:
    """Yields each object that has the member at the end of the path."""
    if not isinstance(value, (dict, list)):
        return
    key, rest = path[0], path[1:]
    if not rest:
        if isinstance(value, dict) and key in value:
            yield value
    elif key in ("*", "**"):
        if key == "**":
            yield from holders(value, rest)
        for child in list(value.values()) if isinstance(value, dict) else value:
            yield from holders(child, path if key == "**" else rest)
    elif isinstance(value, dict) and key in value:
        yield from holders(value[key], rest)
