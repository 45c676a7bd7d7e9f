# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import prose_numbers
from prose.expression import evaluate, parse
from prose.mark import marks
from prose.measured import Number
from prose.quantity import Records
from prose.written_number import WrittenNumber
from shared.report import InputError, Question

from .records import ITERATION_TIME_S, make_curve, make_record, write_exported

CAPS = {"100 Mbit/s": (0.8, 0.4), "1 Gbit/s": (0.2, 0.16)}  # iteration times of dense and fp16, in s


def capped_records() -> list[dict]:
    records = []
    for cap, times_s in CAPS.items():
        for method, time_s in zip(("dense", "fp16"), times_s):
            for seed in (1, 2):
                record = make_record(method, seed=seed, axes={"bottleneck.rate": cap})
                record["iteration_time_s"]["mean"] = time_s
                record["iteration_time_s"]["exchange"] = time_s / 2 + 0.01 * seed
                records.append(record)
    return records


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.page = self.folder / "page.md"

    def write(self, name: str, *records: dict) -> Path:
        (self.folder / name).mkdir()
        write_exported(self.folder / name / "records.jsonl", *records)
        return self.folder / name

    def run_program(self, text: str, *options: str) -> tuple[int, str]:
        """Returns the exit code and everything printed."""
        self.page.write_text(text, encoding="utf-8")
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = prose_numbers.main([str(self.page), "--reference", str(self.folder), *options])
        return code, said.getvalue()


class ExpressionTest(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.records = Records([self.write("caps", *capped_records())], Question(over=("fp16",)))

    def value(self, text: str) -> float:
        return evaluate(parse(text), self.records).single().value

    def test_a_quantity_is_the_mean_over_seeds_of_the_selected_runs(self) -> None:
        time = 'iteration_time_s.exchange["fp16", "bottleneck.rate=100 Mbit/s"]'
        self.assertAlmostEqual(self.value(time), 0.215)
        self.assertAlmostEqual(self.value(time.replace("]", ', "seed=2"]')), 0.22)
        self.assertAlmostEqual(self.value(f"2 * (1 - {time}) / -4 + 1e3"), 1000 - 0.785 / 2)
        self.assertEqual(self.value('runs["dense", "bottleneck.rate=1 Gbit/s"]'), 2.0)

    def test_tables_are_joined_by_the_axes_in_which_they_vary(self) -> None:
        ratio = 'iteration_time_s["fp16"] / iteration_time_s["dense"]'
        self.assertAlmostEqual(self.value(f"min({ratio})"), 0.5)
        self.assertAlmostEqual(self.value(f"max({ratio})"), 0.8)
        self.assertAlmostEqual(self.value(f"mean({ratio}, 2)"), 1.1)
        self.assertEqual(self.value(f"sum({ratio} <= 0.5)"), 1.0)
        self.assertEqual(self.value(f"count({ratio})"), 2.0)
        # One side varies in fewer axes.
        self.assertAlmostEqual(self.value('max(iteration_time_s / iteration_time_s["dense"])'), 1.0)
        deviation = 'iteration_time_s.exchange["seed=*"] - iteration_time_s.exchange'
        self.assertAlmostEqual(self.value(f"max(abs({deviation}))"), 0.005)
        self.assertEqual(self.value(f"count({deviation})"), 8.0)

    def test_rows_of_only_one_side_are_refused(self) -> None:
        self.write("gap", *capped_records()[:6])
        self.records = Records([self.folder / "gap"], Question())
        with self.assertRaisesRegex(InputError, "only one side has bottleneck.rate=1 Gbit/s"):
            self.value('max(iteration_time_s["dense"] / iteration_time_s["fp16"])')

    def test_a_speed_up_over_any_method_and_the_ends_of_its_interval(self) -> None:
        speed_up = '("fp16")["dense", "bottleneck.rate=1 Gbit/s"]'
        mean = self.value(f"speed_up_over{speed_up}")
        self.assertLess(mean, 1.0)
        self.assertLessEqual(self.value(f"low(speed_up_over{speed_up})"), mean)
        self.assertGreaterEqual(self.value(f"high(speed_up_over{speed_up})"), mean)
        with self.assertRaisesRegex(InputError, "no interval"):
            self.value('low(2 * speed_up_over_fp16["dense", "bottleneck.rate=1 Gbit/s"])')

    def test_several_folders_are_repetitions(self) -> None:
        for name, time_s in (("turn-1", 0.8), ("turn-2", 1.2)):
            record = make_record("dense")
            record["iteration_time_s"]["mean"] = time_s
            self.write(name, record)
        text = (
            "Takes <!-- = turn-*: iteration_time_s -->1.0 s, "
            "<!-- = turn-1 turn-2: max(iteration_time_s[\"folder=*\"]) -->1.2 s, "
            "and <!-- = turn-*: iteration_time_s[\"folder=turn-1\"] -->0.8 s."
        )
        self.assertEqual(self.run_program(text), (0, ""))

    def test_a_missing_program_is_one_problem_not_one_per_number(self) -> None:
        text = "Takes <!-- = caps: iteration_time_s[\"seed=1\"] -->1 s or <!-- = caps: iteration_time_s[\"seed=2\"] -->1 s."
        code, said = self.run_program(text, "--thinpipe", "/nowhere")
        self.assertEqual((code, len(said.splitlines())), (2, 1), said)
        self.assertIn("/nowhere, named with --thinpipe", said)

    def test_the_target_may_be_another_one_than_the_runs_own(self) -> None:
        text = "After <!-- = caps{}: iterations_to_target[\"dense\", \"bottleneck.rate=1 Gbit/s\"] -->999."
        own, easier = (self.run_program(text.format(end))[1] for end in ("", " target=0.7 hold=1"))
        self.assertLess(*(int(said.split(" -> ")[1].split(":")[0]) for said in (easier, own)))

    def test_a_mean_of_only_the_runs_that_reached_the_target_is_refused(self) -> None:
        missed = make_curve(ITERATION_TIME_S["dense"], 0.7)
        self.write("some", make_record("dense"), make_record("dense", seed=2, curve=missed))
        self.records = Records([self.folder / "some"], Question())
        for name in ("time_to_accuracy_s", "iterations_to_target"):
            with self.subTest(name), self.assertRaisesRegex(InputError, f"only 1 of 2 runs.*restricted_{name}"):
                self.value(f'{name}["dense"]')
            self.assertGreater(self.value(f"restricted_{name}"), self.value(f'{name}["seed=1"]'))
        dense = '("dense")["dense"]'
        with self.assertRaisesRegex(InputError, "only 1 of 2 runs.*restricted_speed_up_over_dense"):
            self.value(f"speed_up_over{dense}")
        self.assertEqual(self.value(f"restricted_speed_up_over{dense}"), 1.0)

    def test_a_bound_is_refused_like_a_mean_of_some_runs(self) -> None:
        missed = [make_record("dense", seed=seed, curve=make_curve(ITERATION_TIME_S["dense"], 0.7)) for seed in (1, 2)]
        fp16 = [make_record("fp16", seed=seed) for seed in (1, 2)]
        self.write("never", *missed, *fp16)
        self.records = Records([self.folder / "never"], Question())
        for ratio in ("speed_up_over", "relative_time_to", "convergence_speed_over"):
            for selection in ('["fp16"]', '["fp16", "seed=1"]'):
                with self.subTest(ratio), self.assertRaisesRegex(InputError, "only a bound, because dense did not reach"):
                    self.value(f"{ratio}_dense{selection}")
        self.write("lonely", make_record("dense"), *fp16)
        self.records = Records([self.folder / "lonely"], Question())
        with self.assertRaisesRegex(InputError, "only 1 of 2 runs of fp16 have a value"):
            self.value('speed_up_over_dense["fp16"]')

    def test_ratios_have_the_marks_of_the_baseline_s_network_if_it_affects_them(self) -> None:
        records = [make_record("dense"), make_record("fp16")]
        for record in records:
            record["set_up"] = {"pretraining_s": 1.0, "pretraining_from": "measured", "pruning_s": 0.0}
        records[0]["fidelity"] = {"verdict": "degraded", "checks": []}
        self.write("degraded", *records)
        self.records = Records([self.folder / "degraded"], Question())
        for name, marks_of_it in (
            ("speed_up_over_dense", "†"),
            ("speed_up_over_dense_with_set_up", "†"),
            ("relative_time_to_dense", "†"),
            ("convergence_speed_over_dense", ""),
            ("iteration_time_s", ""),
            ("speed_up_over_fp16", ""),
        ):
            with self.subTest(name):
                number = evaluate(parse(f'{name}["fp16"]'), self.records).single()
                self.assertEqual(number.marks, marks_of_it)

    def test_errors_name_the_nearest_valid_names(self) -> None:
        for text, message in (
            ("iteration_times", "unknown quantity.*iteration_time_s"),
            ('runs["fp61"]', "unknown method.*did you mean fp16"),
            ('runs["botleneck.rate=1 Gbit/s"]', "unknown axis.*bottleneck.rate"),
            ('runs["bottleneck.rate=10 Gbit/s"]', "no run has.*1 Gbit/s"),
            ("maxx(runs)", "unknown function.*max"),
            ("runs", "has 4 values where one is needed.*min, max"),
            ("low(runs, runs)", "takes one value"),
            ("max()", "takes one or more"),
            ("1 / 0", "divides by zero"),
            ("speed_up_over(1, 2)", "name of a baseline"),
        ):
            with self.subTest(text), self.assertRaisesRegex(InputError, message):
                self.value(text)

    def test_nothing_but_the_language_is_evaluated(self) -> None:
        for text in (
            "__import__('os').getcwd()",
            "(lambda: 1)()",
            "[runs for x in (1, 2)]",
            "runs if 1 else 2",
            "2 ** 9",
            "'text'",
            "runs[1:2]",
            "max(runs, key=abs)",
            "1 < 2 < 3",
            "True",
            "1 +",
        ):
            with self.subTest(text), self.assertRaises(InputError):
                self.value(text)


class WrittenNumberTest(unittest.TestCase):
    def updated(self, text: str, value: float, noise: float = 0.0) -> str:
        return WrittenNumber.at(text, 0).updated(Number(value, noise))

    def test_a_number_is_right_if_the_value_rounds_to_it(self) -> None:
        for text, value, expected in (
            ("1.77 times", 1.7749, "1.77"),
            ("1.77 times", 1.7751, "1.78"),
            ("1.8 to 2", 1.75, "1.8"),
            ("2 times", 2.49, "2"),
            ("19,532 steps", 19532.4, "19,532"),
            ("999 steps", 1234.0, "1234"),
            ("9,999.5", 12345.6, "12,345.6"),
            ("27 % more", 0.272727, "27 %"),
            ("-3.2 %", -0.0323, "-3.2 %"),
            ("−3.2 %", -0.0423, "−4.2 %"),
            ("-0.1", 0.04, "0.0"),
            ("1/60 of it", 1 / 60.4, "1/60"),
            ("1/60 of it", 1 / 61.2, "1/61"),
            ("60th", 1 / 59.6, "60th"),
            ("120th", 1 / 121.2, "121st"),
            ("third", 0.3, "third"),
            ("third", 0.2, "fifth"),
            ("third", 0.05, "20th"),
            ("three quarters", 0.74, "three quarters"),
            ("three seeds", 3.0, "three"),
            ("three seeds", 5.0, "five"),
            ("three seeds", 13.0, "13"),
            ("**1.8** times", 1.9, "1.9"),
        ):
            with self.subTest(text=text, value=value):
                self.assertEqual(self.updated(text, value), expected)

    def test_the_marks_of_its_networks_follow_a_number(self) -> None:
        degraded = Number(0.75, verdicts=frozenset(["faithful", "degraded"]))
        faithful = Number(0.75, verdicts=frozenset(["faithful"]))
        for without in ("0.75", "75 %", "75%", "three quarters"):
            with_mark = f"{without}†"
            for text in (without, with_mark):
                with self.subTest(text):
                    self.assertEqual(WrittenNumber.at(f"**{text}** of", 0).updated(degraded), with_mark)
                    self.assertEqual(WrittenNumber.at(f"**{text}** of", 0).updated(faithful), without)

    def test_digits_below_the_noise_are_not_written(self) -> None:
        self.assertEqual(self.updated("34700", 34696.0, 110.0), "34700")
        self.assertEqual(self.updated("34696", 34696.0, 110.0), "34700")
        self.assertEqual(self.updated("1.7702", 1.7702, 0.008), "1.770")
        self.assertEqual(self.updated("1.7", 1.7702, 0.008), "1.8")

    def test_words_that_begin_like_a_number_are_none(self) -> None:
        for text in ("seeds", "onerous", "tenths2", "", "- 1"):
            self.assertIsNone(WrittenNumber.at(text, 0), text)


class MarkTest(unittest.TestCase):
    def test_marks_stand_in_text_lists_and_tables(self) -> None:
        text = "a <!-- = x: 1 -->1\n- takes <!-- = x y target=0.7: a[\"b, c\"] -->**1.8** s\n| <!-- = x: 2 -->2 | b |\n"
        found = marks("page", text)
        places = [(each.line, each.source, each.number.text) for each in found]
        self.assertEqual(places, [(1, "x", "1"), (2, "x y target=0.7", "1.8"), (3, "x", "2")])
        self.assertEqual(found[1].text, 'a["b, c"]')

    def test_examples_in_inline_code_are_none(self) -> None:
        self.assertEqual(marks("page", "Write `<!-- = x: 1 -->1` and\n`` <!-- = FOLDER: EXPRESSION --> ``.\n"), [])

    def test_a_mark_that_would_change_the_page_or_says_nothing_is_refused(self) -> None:
        for text, message in (
            ("<!-- = x: 1 -->1 is", "page:1: .*begins a line"),
            ("a\n\n- <!-- = x: 1 -->1 is", "page:3: .*begins a line or an item"),
            ("2. <!-- = x: 1 -->1 is", "begins a line"),
            ("```\na <!-- = x: 1 -->1\n```\n", "page:2: .*block of code"),
            ("## a <!-- = x: 1 -->1\n", "heading"),
            ("| a <!-- = x: 1 | 2 -->1 |", "without |"),
            ("a <!-- = x: 1 --1 -->1", "and --"),
            ("a <!-- = x 1 -->1", "FOLDER: EXPRESSION"),
            ("a <!-- = x:\n1 -->1", "on one line"),
            ("a <!-- = x: 1 --> is", "no number follows"),
            ("a <!-- = x: 1 + -->1", 'page:1: "1 \\+" is no expression'),
        ):
            with self.subTest(text), self.assertRaisesRegex(InputError, message):
                marks("page", text)


class ProseNumbersTest(Folder):
    def setUp(self) -> None:
        super().setUp()
        self.write("caps", *capped_records())
        ratio = '{} = caps: max(iteration_time_s["fp16"] / iteration_time_s["dense"]) -->'.format("<!--")
        self.text = f"Takes {ratio}{{}} times, or {ratio}**{{}} %**, as long.\r\nThe rest.\n"

    def test_right_numbers_pass(self) -> None:
        self.assertEqual(self.run_program(self.text.format("0.80", "80")), (0, ""))

    def test_stale_numbers_are_listed_and_updated_in_place(self) -> None:
        stale = self.text.format("0.75", "70")
        code, said = self.run_program(stale)
        self.assertEqual(code, 1)
        self.assertIn(f"{self.page}:1: 0.75 -> 0.80: caps: max(", said)
        self.assertIn(f"{self.page}:1: 70 % -> 80 %: caps: max(", said)
        self.assertEqual(self.page.read_bytes().decode(), stale)
        code, _ = self.run_program(stale, "--update")
        self.assertEqual(code, 0)
        self.assertEqual(self.page.read_bytes().decode(), self.text.format("0.80", "80"))

    def test_all_errors_are_reported_with_file_and_line_before_anything_is_written(self) -> None:
        wrong = self.text.format("0.75", "80") + "A <!-- = cap: runs -->1, a <!-- = caps: rums -->2.\n"
        code, said = self.run_program(wrong, "--update")
        self.assertEqual(code, 2)
        self.assertRegex(said, f"{self.page}:3: \"cap: runs\": there is no .*did you mean caps")
        self.assertRegex(said, f"{self.page}:3: \"caps: rums\": unknown quantity \"rums\"; did you mean runs")
        self.assertEqual(self.page.read_bytes().decode(), wrong)

    def test_other_json_is_read_by_member_and_index(self) -> None:
        document = {"machines": [{"name": "a", "noise": 0.003}, {"name": "b", "noise": 0.01}]}
        (self.folder / "noise.json").write_text(json.dumps(document))
        place = "a <!-- = noise.json: machines[{}].noise -->{} %"
        text = place.format("0", "0.3") + place.format('"name=b"', "1")
        self.assertEqual(self.run_program(f"{text}, <!-- = {self.folder}/noise.json: 2 * 3 -->6\n"), (0, ""))
        for step, message in (
            ("2", "unknown index 2"),
            ('"name=c"', "did you mean name="),
            ('"name=a"].nois', "did you mean noise"),
        ):
            code, said = self.run_program(place.format(step, "1").replace("nois]", "nois"))
            self.assertEqual(code, 2)
            self.assertIn(message, said)

    def test_numbers_without_a_mark_are_listed_on_request(self) -> None:
        text = self.text.format("0.80", "80") + "There are 3.\n`4` and [x](5).\n| 6 |\n```\n7\n```\n"
        code, said = self.run_program(text + "<!-- t: begin -->\n8\n<!-- t: end -->\n", "--unmarked")
        self.assertEqual((code, said), (0, f"{self.page}:3: There are 3.\n"))

    def test_a_page_that_is_missing_is_wrong_input(self) -> None:
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(prose_numbers.main([str(self.folder / "none.md")]), 2)
        self.assertIn("none.md: cannot be read", said.getvalue())


if __name__ == "__main__":
    unittest.main()
