# SPDX-License-Identifier: Apache-2.0
import unittest
import warnings

import pandas as pd

import speedup
import time_to_accuracy
from shared.comparison import quantity_key
from shared.origin import machines, seeds

from .figure_test import FigureTest, small_print
from .records import METHODS, failed_record, make_record, make_text_curve, make_text_record, write, write_exported


class CommandLineTest(FigureTest):
    def test_a_png_is_written_in_the_results_folder_and_a_pdf_where_it_is_named(self) -> None:
        write(self.directory, *[make_record(method) for method in METHODS])
        for script, name in ((time_to_accuracy, "time_to_accuracy"), (speedup, "speedup")):
            self.assertEqual(self.program(script), (0, ""))
            self.assertTrue((self.directory / f"{name}.png").read_bytes().startswith(b"\x89PNG"))
            self.assertEqual(list(self.directory.glob("*.pdf")), [])
            output = self.directory.parent / f"{name}.pdf"
            self.assertEqual(self.program(script, "--output", str(output)), (0, ""))
            pdf = output.read_bytes()
            self.assertTrue(pdf.startswith(b"%PDF"))
            self.assertIn(b"/FontFile2", pdf)
            self.assertNotIn(b"/Type3", pdf)
        self.assertEqual([path.name for path in self.directory.glob(".*")], [])

    def test_a_figure_of_an_exported_file_is_written_beside_it(self) -> None:
        self.directory.mkdir()
        self.directory = write_exported(self.directory / "monday.jsonl", make_record("dense"), make_record("fp16"))
        self.assertEqual(self.program(speedup), (0, ""))
        self.assertTrue(self.directory.with_name("speedup.png").exists())

    def test_same_records_give_the_same_bytes(self) -> None:
        write(self.directory, make_record("dense"))
        written = []
        for name in ("one", "two"):
            files = [self.directory / f"{name}{suffix}" for suffix in (".png", ".pdf", ".svg")]
            for file in files:
                self.program(time_to_accuracy, "--output", str(file))
            written.append([file.read_bytes() for file in files])
        self.assertEqual(written[0], written[1])

    def test_failed_runs_are_told_on_the_terminal(self) -> None:
        write(self.directory, make_record("dense"), failed_record("topk 0.1"))
        code, said = self.program(speedup)
        self.assertEqual((code, said), (0, "speedup: topk 0.1: failed (rank 3 exited with status 139)\n"))

    def test_two_modes_need_a_choice(self) -> None:
        write(self.directory, make_record("dense"), make_record("dense", mode="simulate"))
        code, said = self.program(time_to_accuracy)
        self.assertEqual(code, 2)
        self.assertIn("runs of the modes live and simulate", said)
        self.assertEqual(self.program(time_to_accuracy, "--mode", "live")[0], 0)
        self.assertEqual(self.program(time_to_accuracy, "--mode", "replay")[0], 2)

    def test_wrong_input_is_one_line_and_exit_code_2(self) -> None:
        write(self.directory, make_record("dense"))
        for arguments, words in (
            (["--target", "84"], "--target 84: must be above 0 and at most 1"),
            (["--target", "bits_per_byte=0"], "--target bits_per_byte=0"),
            (["--target", "bits_per_bite=2"], "--target bits_per_bite=2"),
            (["--target", "0.5"], "no higher than the accuracy a run starts from"),
            (["--output", "figure.eps"], "must end in .png, .pdf, .svg or .pgf"),
            (["--output", "/nowhere/at/all.png"], "/nowhere/at does not exist"),
            (["--where", "rate"], "'rate' must be AXIS=VALUE"),
            (["--where", "rate=1"], "the swept axes are: none"),
            (["--mode", "replay"], "has only runs of mode live"),
        ):
            code, said = self.program(time_to_accuracy, *arguments)
            self.assertEqual(code, 2, arguments)
            self.assertIn(words, said)
            self.assertNotIn("Traceback", said)

    def test_other_metrics_are_given_by_name(self) -> None:
        curve = make_text_curve(0.43, 2.0)
        curve[2]["test_loss"] = None
        write(self.directory, make_text_record("dense"), make_text_record("fp16", curve=curve))
        for script, target in ((time_to_accuracy, "bits_per_byte=2.5"), (speedup, "test_loss=1.75")):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertEqual(self.program(script, "--target", target), (0, ""))

    def test_a_missing_folder_is_named_itself(self) -> None:
        code, said = self.program(speedup)
        self.assertEqual(code, 2)
        self.assertTrue(said.startswith(f"speedup: {self.directory}: is neither a folder of results nor a file"), said)

    def test_runs_of_different_tasks_do_not_share_a_panel(self) -> None:
        other = make_record("fp16")
        other["config"]["dataset"]["name"] = "synthetic"
        write(self.directory, make_record("dense"), other)
        code, said = self.program(time_to_accuracy)
        self.assertEqual(code, 2)
        self.assertIn("differ in dataset.name (fashion_mnist, synthetic)", said)

    def test_a_folder_of_only_failures_still_gives_a_picture_of_them(self) -> None:
        write(self.directory, failed_record("dense"), failed_record("fp16"))
        self.assertEqual(self.program(time_to_accuracy)[0], 0)
        self.assertEqual(self.program(speedup)[0], 2)


class PanelTitleTest(FigureTest):
    def test_titles_have_the_axes_that_tell_panels_apart_and_the_small_print_the_others(self) -> None:
        runs = [
            make_record("dense", axes={"bottleneck.rate": "100 Mbit/s", "network": "star", "bottleneck.queue": queue})
            for queue in ("125 kB", "1 MB")
        ]
        figure = time_to_accuracy.draw(self.compared(*runs))
        self.assertEqual([axes.get_title() for axes in figure.axes], ["bottleneck.queue = 125 kB", "bottleneck.queue = 1 MB"])
        self.assertIn("network = star", small_print(figure))

    def test_a_single_panel_has_all_axes_in_its_title(self) -> None:
        figure = time_to_accuracy.draw(self.compared(make_record("dense", axes={"network": "star"})))
        self.assertEqual(figure.axes[0].get_title(), "network = star")
        self.assertNotIn("network = star", small_print(figure))

    def test_the_small_print_has_the_rate_of_the_bottlenecks(self) -> None:
        record = make_record("dense")
        link = {"between": ["left", "middle"], "burst": "4 kB"}
        record["config"]["topology"]["links"] = [
            {**link, "bottleneck": True, "rate": "100 Mbit/s"}, {**link, "bottleneck": False, "rate": "5 Gbit/s"},
        ]  # fmt: skip
        self.assertIn("bottlenecks 100 Mbit/s · burst 4 kB", small_print(time_to_accuracy.draw(self.compared(record))))


class OriginTest(unittest.TestCase):
    def test_few_seeds_are_listed_and_consecutive_ones_are_a_range(self) -> None:
        def said(*numbers: float | None) -> str:
            return seeds(pd.DataFrame({"config.seed": list(numbers)}))

        self.assertEqual(said(7, 7), "seed 7")
        self.assertEqual(said(2, 1), "seeds 1, 2")
        self.assertEqual(said(3, 1, 2, 2), "seeds 1–3")
        self.assertEqual(said(1, 2, 5), "seeds 1, 2, 5")
        self.assertEqual(said(*range(1, 21)), "seeds 1–20")
        self.assertEqual(said(*range(0, 14, 2)), "7 seeds")
        self.assertEqual(said(4, None), "seed 4")

    def test_cores_are_whole_numbers_beside_a_record_without_them(self) -> None:
        runs = pd.DataFrame({"provenance.cpu": ["a", "a"], "provenance.cores": [2, None]})
        self.assertIn("a (2 cores)", machines(runs))


class QuantityOrderTest(unittest.TestCase):
    def test_numbers_with_prefixes(self) -> None:
        texts = ["1 Gbit/s", "100 Mbit/s", "64 KiB", "0.1", "0.01", "8", "16"]
        self.assertEqual(sorted(texts[:2], key=quantity_key), ["100 Mbit/s", "1 Gbit/s"])
        self.assertEqual(sorted(texts[3:], key=quantity_key), ["0.01", "0.1", "8", "16"])
        for ordered in (
            ["100 us", "1 ms", "10 ms"],
            ["30 s", "2 min", "1 h"],
            ["1e-05", "0.0001", "0.001"],
            ["12.5 kB", "64 KiB", "1 MiB"],
            ["4 hosts", "6 workers"],
        ):
            self.assertEqual(sorted(reversed(ordered), key=quantity_key), ordered)
        self.assertEqual(sorted(["20 ms", "1 s"], key=quantity_key), ["20 ms", "1 s"])
