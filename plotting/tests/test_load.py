# SPDX-License-Identifier: Apache-2.0
import contextlib
import copy
import io
import math
import tempfile
import unittest
from pathlib import Path

import pandas as pd

from shared.load import configured_method, load
from shared.report import InputError

from .records import failed_record, make_network_event, make_record, make_text_record, write, write_exported


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
        self.assertEqual(run["target_time_s"], 160.0)
        self.assertEqual(run["target_iteration"], 200)
        self.assertTrue(run["reached"])
        self.assertEqual(results.group(results.runs).spread("time_to_accuracy_s").mean, 160.0)

    def test_a_test_loss_that_was_not_finite_is_a_gap(self) -> None:
        record = make_text_record("dense")
        record["curve"][3]["test_loss"] = None
        results = load(write(self.directory, record))
        self.assertEqual(results.curves.test_loss.isna().tolist().index(True), 3)
        self.assertEqual(results.curves.test_loss.isna().sum(), 1)

    def test_what_changed_in_a_network_arrives_as_the_record_has_it(self) -> None:
        record = make_record(
            "dense",
            network_events=[make_network_event()],
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
            record["run_id"] = f"{minute:016x}"
            record["provenance"]["started_at"] = f"2026-11-20T20:{minute:02}:00Z"
        results = load(write(self.directory, *records))
        self.assertEqual(results.runs.method.tolist(), ["dense", "fp16", "pactrain", "topk 0.01"])

    def test_half_written_temporaries_are_not_records(self) -> None:
        record = make_record("dense")
        write(self.directory, record)
        for name in (".run.json.4711", "run.json.tmp"):
            (self.directory / record["run_id"] / name).write_text('{"schema_ver')
        (self.directory / "initial-weights").mkdir()
        self.assertEqual(len(load(self.directory).runs), 1)

    def test_the_report_names_what_it_cannot_read(self) -> None:
        record = make_record("dense")
        record["curve"][3]["test_accuracy"] = "high"
        write(self.directory, record)
        with contextlib.redirect_stderr(io.StringIO()):
            self.assert_refused("has no records; name a folder that `thinpipe run` wrote, or its export")
        with self.assertRaisesRegex(InputError, "quikstart: is neither a folder of results nor a file"):
            load(self.directory.with_name("quikstart"))

    def test_seeds_are_repetitions_but_an_older_configuration_is_left_out_aloud(self) -> None:
        repetitions = [make_record("dense", seed=seed) for seed in (1, 2)]
        stale = make_record("dense", axes={"training.epochs": 9})
        stale["labels"] = {"method": "dense"}
        stale["provenance"]["started_at"] = "2026-11-19T20:00:00Z"
        results = load(write(self.directory, stale, *repetitions))
        self.assertEqual(results.runs["config.seed"].tolist(), [1, 2])
        self.assertEqual(len(results.superseded), 1)
        self.assertIn(stale["run_id"], results.superseded[0])

    def test_without_a_method_axis_labels_name_the_curve(self) -> None:
        record = make_record("dense", labels={"pruning.ratio": "0.5", "bottleneck.rate": "1 Gbit/s", "seed": "3"})
        results = load(write(self.directory, record))
        self.assertEqual(results.runs.method.tolist(), ["0.5, 1 Gbit/s"])
        self.assertEqual(results.runs.other_axes.tolist(), [{}])

    def test_a_trainer_may_name_its_method(self) -> None:
        record = make_record("dense")
        record["config"]["trainer"] = "pytorch-ddp"
        self.assertEqual(configured_method(record), "dense")
        hook = {"name": "/mine.py:sketch"}
        record["config"]["trainer"] = {"program": "pytorch-ddp", "hook": hook, "method": "sketch"}
        self.assertEqual(configured_method(record), "sketch")

    def test_one_broken_record_hides_no_other(self) -> None:
        good, bad = make_record("dense"), make_record("topk 0.1")
        del bad["curve"][1]["test_accuracy"]
        write(self.directory, good, bad)
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            results = load(self.directory)
        self.assertEqual(results.runs.run_id.tolist(), [good["run_id"]])
        self.assertRegex(errors.getvalue(), f"{bad['run_id']}.*/curve/1/test_accuracy is missing")

    def test_exported_records_are_read_like_folders(self) -> None:
        records = [make_record(method) for method in ("dense", "fp16")] + [failed_record("topk 0.1")]
        of_folders = load(write(self.directory, *records))
        elsewhere = self.directory.with_name("exported")
        elsewhere.mkdir()
        file = write_exported(elsewhere / "records.jsonl", *reversed(records))
        for place in (elsewhere, file):
            results = load(place)
            self.assertEqual(results.directory, place)
            for name in ("runs", "curves"):
                pd.testing.assert_frame_equal(getattr(results, name), getattr(of_folders, name), check_like=True)

    def test_two_records_of_one_run_in_two_folders_are_two_runs(self) -> None:
        ours, theirs = make_record("dense"), make_record("dense")
        theirs["iteration_time_s"]["p50"] = 0.4
        theirs["curve"] = theirs["curve"][:3]
        theirs["provenance"]["started_at"] = "2019-01-01T00:00:00.000Z"  # the report's first
        write(self.directory / "a", ours)
        write(self.directory / "b", theirs)
        write(self.directory / "copy", ours)
        with contextlib.redirect_stderr(io.StringIO()) as warning:
            results = load(self.directory)
        self.assertIn("both count", warning.getvalue())
        self.assertEqual(sorted(results.runs["iteration_time_s.p50"]), [0.4, 0.8])
        points = {run["iteration_time_s.p50"]: len(results.curves[results.curves.key == run.key]) for _, run in results.runs.iterrows()}
        self.assertEqual(points, {0.4: 3, 0.8: len(ours["curve"])})

    def test_a_run_s_folder_counts_before_an_older_export(self) -> None:
        record = make_record("dense")
        older = copy.deepcopy(record)
        older["provenance"]["started_at"] = "2025-01-01T00:00:00Z"
        write_exported(write(self.directory, record) / "records.jsonl", older, make_record("fp16"))
        with contextlib.redirect_stderr(io.StringIO()) as errors:
            results = load(self.directory)
        self.assertEqual(results.runs.method.tolist(), ["dense", "fp16"])
        self.assertEqual(results.runs["provenance.started_at"].iloc[0], record["provenance"]["started_at"])
        self.assertIn("records.jsonl:1", errors.getvalue())

    def assert_refused(self, message: str) -> None:
        with self.assertRaisesRegex(InputError, message):
            load(self.directory)
