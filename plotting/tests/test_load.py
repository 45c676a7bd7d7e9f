import contextlib
import copy
import io
import math
import tempfile
import unittest
from pathlib import Path

import pandas as pd

from load import InputError, load

from .records import failed_record, make_record, make_text_record, write, write_exported


class LoadTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = Path(folder.name) / "quickstart"

    def test_numbers_arrive_under_the_record_s_own_names(self) -> None:
        record = make_record("dense")
        results = load(write(self.directory, record))
        run = results.runs.iloc[0]
        self.assertEqual(run["run_id"], record["run_id"])
        self.assertEqual(run["iteration_time_s.p50"], 0.8)
        self.assertEqual(run["iteration_time_s.load"], 0.02)
        self.assertEqual(run["traffic.wire_bytes.left->middle"], 1900)
        self.assertEqual(run["config.synchroniser.name"], "dense")
        self.assertEqual(len(results.curves), len(record["curve"]))
        self.assertEqual(results.curves.train_time_s.iloc[-1], record["curve"][-1]["train_time_s"])
        self.assertTrue(math.isnan(results.curves.train_loss.iloc[0]))
        self.assertEqual(
            results.targets[["metric", "value", "reached"]].values.tolist(), [["accuracy", 0.84, True]]
        )

    def test_targets_of_several_metrics_share_a_table(self) -> None:
        record = make_text_record("dense", aims=(0.5, {"test_loss": 1.75}, {"bits_per_byte": 2}))
        results = load(write(self.directory, record))
        self.assertEqual(
            results.targets.columns.tolist(),
            ["run_id", "metric", "value", "reached", "iteration", "train_time_s"],
        )
        self.assertEqual(
            results.targets[["metric", "value", "reached"]].values.tolist(),
            [["accuracy", 0.5, True], ["test_loss", 1.75, True], ["bits_per_byte", 2.0, False]],
        )
        times_s = results.targets.train_time_s
        self.assertEqual(times_s.tolist()[:2], [entry["train_time_s"] for entry in record["targets"][:2]])
        self.assertTrue(math.isnan(times_s.iloc[2]))

    def test_a_test_loss_that_was_not_finite_is_a_gap(self) -> None:
        record = make_text_record("dense")
        record["curve"][3]["test_loss"] = None
        results = load(write(self.directory, record))
        self.assertEqual(results.curves.test_loss.isna().tolist().index(True), 3)
        self.assertEqual(results.curves.test_loss.isna().sum(), 1)

    def test_what_changed_in_a_network_arrives_as_the_record_has_it(self) -> None:
        record = make_record(
            "dense",
            network_events=[{"at_s": 1.0, "link": "left-middle", "confirmed_s": 1.002, "held": {}}],
        )
        record["config"]["network_events"] = [{"at": "1 s", "link": "left-middle", "rate": "50 Mbit/s"}]
        record["config"]["rate_trace"] = {"link": "middle-right", "file": "a.csv", "steps_hash": "00"}
        results = load(write(self.directory, record, make_record("fp16")))
        dense, fp16 = results.runs.iloc[0], results.runs.iloc[1]
        self.assertEqual(dense["network_events"][0]["confirmed_s"], 1.002)
        self.assertEqual(dense["config.rate_trace.steps_hash"], "00")
        self.assertEqual(dense["config.rate_trace.clock"], "wall")
        self.assertEqual(fp16["network_events"], [])

    def test_failed_runs_stay_with_their_reason(self) -> None:
        results = load(write(self.directory, failed_record("topk 0.1"), make_record("dense")))
        self.assertEqual(results.runs.status.tolist(), ["completed", "failed"])
        self.assertEqual(results.runs["error.message"].iloc[1], "rank 3 exited with status 139")

    def test_order_of_methods_is_that_of_the_labels_not_of_the_folders_or_times(self) -> None:
        records = [make_record(method) for method in ("topk 0.01", "pactrain", "fp16", "dense")]
        for minute, record in enumerate(records):
            record["run_id"] = f"{minute}"
            record["provenance"]["started_at"] = f"2026-11-20T20:{minute:02}:00Z"
        results = load(write(self.directory, *records))
        self.assertEqual(results.runs.method.tolist(), ["dense", "fp16", "pactrain", "topk 0.01"])

    def test_newer_schema_is_refused_by_name(self) -> None:
        write(self.directory, make_record("dense", schema_version=2))
        self.assert_refused(
            r"run\.json: /schema_version is 2, written by a newer Thinpipe; this version reads up to 1"
        )

    def test_truncated_json_is_named(self) -> None:
        record = make_record("fp16")
        write(self.directory, record)
        broken = self.directory / record["run_id"] / "run.json"
        broken.write_text(broken.read_text()[:500])
        self.assert_refused(rf"{record['run_id']}/run\.json: is not a complete JSON document")

    def test_half_written_temporaries_are_not_records(self) -> None:
        record = make_record("dense")
        write(self.directory, record)
        for name in (".run.json.4711", "run.json.tmp"):
            (self.directory / record["run_id"] / name).write_text('{"schema_ver')
        (self.directory / "starting-weights").mkdir()
        self.assertEqual(len(load(self.directory).runs), 1)

    def test_field_errors_name_the_place(self) -> None:
        record = make_record("dense")
        record["curve"][3]["test_accuracy"] = None
        write(self.directory, record)
        self.assert_refused(r"/curve/3/test_accuracy must be a finite number, not null")

    def test_wrong_targets_are_refused_with_file_and_place(self) -> None:
        for entry, words in (
            ("fast", r"must be a number or an object with exactly one of accuracy, .*not \"fast\""),
            (True, "must be a number or an object"),
            ({}, r"must be a number or an object with exactly one of .*not \{\}"),
            ({"accuracy": 0.5, "test_loss": 1}, "must be a number or an object with exactly one of"),
            ({"bits_per_bite": 2}, "must have exactly one of accuracy, test_loss, bits_per_byte"),
            ({"bits_per_byte": "2"}, "must have exactly one of .*, a number"),
            ({"bits_per_byte": -1}, "must be a finite bits_per_byte above 0, not -1"),
            ({"test_loss": math.inf}, "must be a finite test_loss above 0, not inf"),
            ({"accuracy": 84}, "must be an accuracy above 0 and at most 1, not 84"),
            (0, "must be an accuracy above 0 and at most 1, not 0"),
            (math.nan, "must be an accuracy above 0 and at most 1, not nan"),
        ):
            with self.subTest(entry=entry):
                record = make_record("dense")
                record["config"]["targets"] = [0.84, entry]
                write(self.directory, record)
                self.assert_refused(rf"{record['run_id']}/run\.json: /config/targets/1 {words}")

    def test_wrong_results_of_targets_are_refused_with_file_and_place(self) -> None:
        verdict = {"reached": True, "iteration": 20, "train_time_s": 16.0}
        for result, words in (
            (verdict, "/targets/0 must have exactly one of accuracy, test_loss, bits_per_byte"),
            ({**verdict, "accuracy": 0.5, "test_loss": 1}, "/targets/0 must have exactly one of"),
            ({**verdict, "bits_per_byte": None}, "/targets/0 must have exactly one of .*, a number"),
            ({**verdict, "accuracy": 84}, "/targets/0 must be an accuracy above 0 and at most 1"),
            (0.5, "/targets/0 must have exactly one of .* but is 0.5"),
            ({"test_loss": 1}, "/targets/0/reached is missing"),
            ({**verdict, "test_loss": 1, "train_time_s": None}, "/targets/0/train_time_s must be a finite"),
        ):
            with self.subTest(result=result):
                write(self.directory, make_record("dense", targets=[result]))
                self.assert_refused(rf"run\.json: {words}")

    def test_a_test_loss_is_a_number_or_null(self) -> None:
        record = make_text_record("dense")
        record["curve"][2]["test_loss"] = "nan"
        write(self.directory, record)
        self.assert_refused(r"/curve/2/test_loss must be a finite number, not \"nan\"")

    def test_missing_fields_are_named(self) -> None:
        record = make_record("dense")
        del record["config"]["synchroniser"]
        write(self.directory, record)
        self.assert_refused(r"/config/synchroniser is missing")

    def test_folders_without_records_say_what_to_do(self) -> None:
        self.directory.mkdir()
        self.assert_refused(r"has no run record .* 'thinpipe run experiments/quickstart\.json'")
        with self.assertRaisesRegex(InputError, r"no such results folder; did you mean '.*/quickstart'\?"):
            load(self.directory.with_name("quikstart"))

    def test_the_folder_of_one_run_is_not_an_experiment(self) -> None:
        record = make_record("dense")
        write(self.directory, record)
        with self.assertRaisesRegex(InputError, "is the folder of a single run"):
            load(self.directory / record["run_id"])

    def test_seeds_are_repetitions_but_an_older_configuration_is_left_out_aloud(self) -> None:
        repetitions = [make_record("dense", seed=seed) for seed in (1, 2)]
        stale = make_record("dense", axes={"training": {"epochs": 9}})
        stale["labels"] = {"method": "dense"}
        stale["provenance"]["started_at"] = "2026-11-19T20:00:00Z"
        results = load(write(self.directory, stale, *repetitions))
        self.assertEqual(results.runs["config.seed"].tolist(), [1, 2])
        self.assertEqual(len(results.superseded), 1)
        self.assertIn(stale["run_id"], results.superseded[0])

    def test_without_a_method_axis_labels_name_the_curve(self) -> None:
        record = make_record("dense", labels={"pruning.ratio": 0.5, "bottleneck.rate": "1 Gbit/s", "seed": 3})
        results = load(write(self.directory, record))
        self.assertEqual(results.runs.method.tolist(), ["0.5, 1 Gbit/s"])
        self.assertEqual(results.runs.other_axes.tolist(), [{}])

    def test_one_broken_record_hides_no_other(self) -> None:
        good, bad = make_record("dense"), make_record("topk 0.1")
        del bad["curve"][1]["test_accuracy"]
        write(self.directory, good, bad)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            results = load(self.directory)
        self.assertEqual(results.runs.run_id.tolist(), [good["run_id"]])
        self.assertRegex(errors.getvalue(), f"left out: .*{bad['run_id']}.*/curve/1/test_accuracy is missing")

    def test_exported_records_are_read_like_folders(self) -> None:
        records = [make_record(method) for method in ("dense", "fp16")] + [failed_record("topk 0.1")]
        of_folders = load(write(self.directory, *records))
        elsewhere = self.directory.with_name("exported")
        elsewhere.mkdir()
        file = write_exported(elsewhere / "records.jsonl", *reversed(records))
        for place in (elsewhere, file):
            results = load(place)
            self.assertEqual(results.directory, place)
            for name in ("runs", "curves", "targets"):
                pd.testing.assert_frame_equal(getattr(results, name), getattr(of_folders, name), check_like=True)

    def test_a_damaged_line_is_named_and_hides_no_other(self) -> None:
        good, bad = make_record("dense"), make_record("topk 0.1")
        self.directory.mkdir()
        file = write_exported(self.directory / "records.jsonl", good, bad)
        file.write_text(file.read_text()[:-500])
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            results = load(file)
        self.assertEqual(results.runs.run_id.tolist(), [good["run_id"]])
        self.assertIn(f"left out: {file}:2: is not a complete JSON document", errors.getvalue())
        del bad["curve"][1]["test_accuracy"]
        write_exported(file, bad)
        self.assert_refused(r"records\.jsonl:1: /curve/1/test_accuracy is missing")

    def test_of_two_records_of_a_run_the_first_counts(self) -> None:
        first = make_record("dense")
        second = copy.deepcopy(first)
        second["provenance"]["started_at"] = "2027-01-01T00:00:00Z"
        self.directory.mkdir()
        file = write_exported(self.directory / "records.jsonl", first, second, first)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            results = load(file)
        self.assertEqual(results.runs["provenance.started_at"].tolist(), [first["provenance"]["started_at"]])
        self.assertEqual(len(results.curves), len(first["curve"]))
        self.assertEqual(
            errors.getvalue(),
            f"left out: {file}:2: is a second record of run {first['run_id']}, which differs from {file}:1\n",
        )

    def test_a_run_s_folder_counts_before_an_older_export(self) -> None:
        record = make_record("dense")
        older = copy.deepcopy(record)
        older["provenance"]["started_at"] = "2025-01-01T00:00:00Z"
        write_exported(write(self.directory, record) / "records.jsonl", older, make_record("fp16"))
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            results = load(self.directory)
        self.assertEqual(results.runs.method.tolist(), ["dense", "fp16"])
        self.assertEqual(results.runs["provenance.started_at"].iloc[0], record["provenance"]["started_at"])
        self.assertIn("records.jsonl:1: is a second record of run", errors.getvalue())

    def test_files_without_records_are_refused_by_name(self) -> None:
        self.directory.mkdir()
        (self.directory / "records.jsonl").write_text("\n")
        self.assert_refused(r"has no run record \(no \*/run\.json or records\.jsonl\)")
        with self.assertRaisesRegex(InputError, "records.jsonl: has no run record; write it again"):
            load(self.directory / "records.jsonl")
        (self.directory / "notes.txt").write_text("mine")
        with self.assertRaisesRegex(InputError, r"notes\.txt: is neither a results folder nor a file of exported"):
            load(self.directory / "notes.txt")

    def assert_refused(self, message: str) -> None:
        with self.assertRaisesRegex(InputError, message):
            load(self.directory)
