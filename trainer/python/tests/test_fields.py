# SPDX-License-Identifier: Apache-2.0
"""Options of methods and models in Python files, as Thinpipe's descriptions state them."""
from __future__ import annotations

import sys
import unittest
from pathlib import Path
from typing import ClassVar, Optional

sys.path.insert(0, str(Path(__file__).parents[1]))
from thinpipe import fields


class Method:
    """A class with options."""

    ratio: float = fields.field(0.01, above=0, at_most=1, effect="kept share")
    levels: int = 4
    scope: str = fields.field("bucket", one_of=["bucket", "tensor"])
    clip: Optional[float] = None
    sizes: list[int] = fields.field()
    whole: float = 2
    _private: int = 3
    properties: ClassVar[str] = "not an option"


class Options(unittest.TestCase):
    def test_fields_of_a_class(self):
        described = {option["key"]: option for option in fields.of_class(Method)}
        self.assertEqual(list(described), ["ratio", "levels", "scope", "clip", "sizes", "whole"])
        self.assertEqual(
            described["ratio"],
            {"key": "ratio", "type": "number", "effect": "kept share", "above": 0, "at_most": 1, "required": False,
             "default": 0.01},
        )
        self.assertEqual(described["levels"]["type"], "integer")
        self.assertEqual(described["scope"]["one_of"], ["bucket", "tensor"])
        self.assertTrue(described["clip"]["nullable"])
        self.assertIsNone(described["clip"]["default"])
        self.assertTrue(described["sizes"]["required"])
        self.assertTrue(described["sizes"]["list"])

    def test_a_number_has_a_floating_default(self):
        default = {option["key"]: option for option in fields.of_class(Method)}["whole"]["default"]
        self.assertIsInstance(default, float)

    def test_parameters_of_a_constructor_but_for_the_context(self):
        class Net:
            def __init__(self, data, hidden: int, bias=True):
                pass

        described = fields.of_callable(Net, frozenset({"data"}))
        self.assertEqual([(option["key"], option["type"]) for option in described],
                         [("hidden", "integer"), ("bias", "boolean")])
        self.assertTrue(described[0]["required"])

    def test_a_default_that_is_no_number_is_refused(self):
        for default in (float("inf"), float("nan")):
            def load(clip=default):
                pass

            with self.assertRaisesRegex(fields.InvalidOption, "load: the option clip has the default"):
                fields.of_callable(load)

    def test_an_option_without_a_type_is_refused(self):
        def load(path):
            pass

        with self.assertRaisesRegex(fields.InvalidOption, "load: the option path needs a type"):
            fields.of_callable(load)

    def test_a_field_without_an_annotation_is_refused(self):
        class Forgotten(Method):
            share = fields.field(0.01)

        with self.assertRaisesRegex(fields.InvalidOption, "Forgotten: the option share needs a type"):
            fields.of_class(Forgotten)

    def test_a_list_of_booleans_is_refused(self):
        def load(which: list[bool]):
            pass

        with self.assertRaisesRegex(fields.InvalidOption, "load: the option which needs a type"):
            fields.of_callable(load)


if __name__ == "__main__":
    unittest.main()
