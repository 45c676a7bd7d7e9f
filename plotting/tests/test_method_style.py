# SPDX-License-Identifier: Apache-2.0
import unittest
from pathlib import Path

from shared.method_style import hash_of, mixed, short_name, styles_of, styles_table

from .figure_test import FigureTest
from .records import make_record, make_scripted_record

METHODS = Path(__file__).resolve().parents[2] / "trainer" / "synchronisers" / "methods"


class MethodStyleTest(unittest.TestCase):
    def test_the_table_has_every_method_and_no_look_twice(self) -> None:
        methods = styles_table()["methods"]
        self.assertEqual(sorted(methods), sorted(file.stem for file in METHODS.glob("*.cc")))
        looks = [(look["colour"], look["marker"]) for look in methods.values()]
        self.assertEqual(len(set(looks)), len(looks))
        self.assertLessEqual({colour for colour, _ in looks}, styles_table()["colours"].keys())
        dashes = [(look["colour"], look["dash"]) for look in methods.values()]
        self.assertEqual(len(set(dashes)), len(dashes), "methods of one colour differ in their dash")
        self.assertFalse({colour for colour, _ in looks} & set(styles_table()["others"]["colours"]))

    def test_a_method_looks_the_same_in_any_company(self) -> None:
        few = styles_of({"plain": "dense", "ours": "pactrain"})
        many = styles_of({"ours": "pactrain", "k": "topk", "hook": "sketch", "all-reduce": "dense", "half": "fp16"})
        self.assertEqual(few["ours"], many["ours"])
        self.assertEqual(few["plain"], many["all-reduce"])

    def test_variants_share_colour_family_and_marker_and_differ_otherwise(self) -> None:
        styles = list(styles_of({f"topk {ratio}": "topk" for ratio in range(100, 130)}).values())
        self.assertEqual({style.marker for style in styles}, {"^"})
        self.assertEqual(len(set(styles)), 30)
        self.assertEqual((styles[0].colour, styles[1].colour), ("#009e73", "#009e73"))
        self.assertNotEqual(styles[0].filled, styles[1].filled)
        self.assertNotEqual(styles[0].dash, styles[1].dash)

    def test_labels_order_the_variants_whatever_the_order_of_runs(self) -> None:
        forth = styles_of({"topk 0.1": "topk", "topk 0.01": "topk"})
        back = styles_of({"topk 0.01": "topk", "topk 0.1": "topk"})
        self.assertEqual(forth, back)
        self.assertEqual(list(back), ["topk 0.01", "topk 0.1"])

    def test_an_unknown_method_keeps_its_colour_and_never_shares_a_look(self) -> None:
        names = [f"hook_{place}" for place in range(18)]
        alone = {name: styles_of({name: name})[name] for name in names}
        together = styles_of({name: name for name in [*names, "dense", "topk"]})
        for name in names:
            self.assertEqual(alone[name].colour, together[name].colour)
        self.assertEqual(len({(style.colour, style.marker) for style in together.values()}), 20)

    def test_hash_colours_and_names(self) -> None:
        self.assertEqual([hash_of(""), hash_of("a")], [0x811C9DC5, 0xE40C292C])  # of FNV-1a's authors
        self.assertEqual(mixed("#000000", "#ffffff", 0.4), "#666666")
        self.assertEqual(short_name("/home/me/my_method.py:MyTopK"), "my_method.py:MyTopK")
        self.assertEqual(short_name("topk"), "topk")


class StylesOfRunsTest(FigureTest):
    def test_two_experiments_with_other_companions_agree(self) -> None:
        one = self.compared(make_record("dense"), make_record("topk 0.1"), make_record("pactrain"))
        self.directory = self.directory.with_name("another")
        renamed = make_record("pactrain", labels={"method": "ours, with a free name"})
        two = self.compared(make_record("fp16"), renamed, make_scripted_record("sketch"))
        self.assertEqual(one.styles["pactrain"], two.styles["ours, with a free name"])

    def test_a_hook_is_its_own_method_and_a_script_without_one_too(self) -> None:
        hooked, scripted = make_record("dense", labels={"method": "A"}), make_record("fp16", labels={"method": "B"})
        hooked["config"]["trainer"] = {"program": "pytorch-ddp", "hook": {"name": "/mine.py:sketch"}, "method": "sketch"}
        scripted["config"]["trainer"] = "/mine/train.py"
        names = dict(zip(*(self.compared(hooked, scripted).results.runs[name] for name in ("method", "method_name"))))
        self.assertEqual(names, {"A": "sketch", "B": "train"})
