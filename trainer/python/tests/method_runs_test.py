# SPDX-License-Identifier: Apache-2.0
"""Runs with a method in a Python file: equal to its twin in C++, in every mode; errors; restarts.

Usage: method_runs_test.py [--slow] PATH/thinpipe
"""

import json
import sys
import tempfile
from pathlib import Path

from programs import METHODS, Experiment, small_run

PYTHON = {"name": str(METHODS / "topk_residual.py") + ":MyTopK", "ratio": 0.05}
TWIN = {"name": "topk", "ratio": 0.05}
TWINS = {"method": {"python": {"synchroniser": PYTHON}, "c++": {"synchroniser": TWIN}}}


def expect_equal_twins(thinpipe, base, sweep=None):
    experiment = Experiment(thinpipe, base, sweep or TWINS)
    done = experiment.run()
    assert done.returncode == 0, done.stderr
    records = experiment.records()
    assert len(records) == 2, list(records)
    hashes = {label: record["parameters_hash"] for label, record in records.items()}
    assert len(set(hashes.values())) == 1 and None not in hashes.values(), hashes
    print(f"{base['mode']} with {base['workers']} workers: {hashes}")


def test_is_equal_to_its_twin_among_threads(thinpipe):
    expect_equal_twins(thinpipe, small_run(workers=2))


STATES_NO_PROPERTIES = """
import thinpipe
from compressors import TopKCompressor
from topk_residual import MyTopK

class SilentCompressor(thinpipe.Compressor):
    ratio: float = 0.1
    memory = "residual"
    compress, decompress = TopKCompressor.compress, TopKCompressor.decompress

class SilentSynchroniser(thinpipe.Synchroniser):
    ratio: float = 0.1
    start, leaves_dense, synchronise = MyTopK.start, MyTopK.leaves_dense, MyTopK.synchronise
"""


def test_a_method_with_a_residual_is_clipped_before_the_exchange(thinpipe):
    for file, stating, silent in (("compressors.py", "TopKCompressor", "SilentCompressor"),
                                  ("topk_residual.py", "MyTopK", "SilentSynchroniser")):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("compressors.py", "topk_residual.py"):
                (Path(folder) / name).write_text((METHODS / name).read_text())
            (Path(folder) / "silent.py").write_text(STATES_NO_PROPERTIES)
            base = small_run(workers=2)
            base["training"]["clip_norm"] = 0.1
            names = {"stating": f"{folder}/{file}:{stating}", "silent": f"{folder}/silent.py:{silent}"}
            expect_equal_twins(thinpipe, base, {
                "method": {label: {"synchroniser": {"name": name, "ratio": 0.1}} for label, name in names.items()}})


def test_momentum_of_the_method_reaches_what_is_left_dense(thinpipe):
    sgd = {"name": "sgd", "learning_rate": 0.05, "weight_decay": 0}
    expect_equal_twins(thinpipe, small_run(workers=2), {"method": {
        "python": {"synchroniser": {"name": f"{METHODS}/momentum.py:Momentum"}, "optimiser": {**sgd, "momentum": 0}},
        "c++": {"synchroniser": {"name": "dense"}, "optimiser": {**sgd, "momentum": 0.9}}}})


def slow_test_is_equal_to_its_twin_among_eight_threads(thinpipe):
    expect_equal_twins(thinpipe, small_run(workers=8))


def slow_test_is_equal_to_its_twin_over_a_network(thinpipe):
    expect_equal_twins(thinpipe, small_run(workers=2, mode="live", topology="loopback"))


def slow_test_is_replayed_and_simulated(thinpipe):
    base = small_run(workers=2, synchroniser=PYTHON)
    del base["mode"], base["workers"]
    replay = Experiment(thinpipe, {**base, "mode": "replay", "topology": "loopback"})
    done = replay.run()
    assert done.returncode == 0, done.stderr
    trained, replayed = (list(replay.records(mode).values())[0] for mode in ("converge", "replay"))
    assert replayed["parameters_hash"] == trained["parameters_hash"]
    bytes_per_worker = replayed["traffic"]["payload_bytes_per_worker"]
    assert bytes_per_worker == trained["traffic"]["payload_bytes_per_worker"] > 0, bytes_per_worker
    simulate = Experiment(thinpipe, {**base, "mode": "simulate", "topology": "three-switch", "compute_profile": "a40"})
    done = simulate.run()
    assert done.returncode == 0, done.stderr
    assert list(simulate.records("simulate").values())[0]["train_time_s"] > 0


def slow_test_restarts_from_a_checkpoint_as_if_undisturbed(thinpipe):
    restart = {"action": "restart", "checkpoint_every_iterations": 5}
    base = small_run(workers=2, mode="live", topology="loopback", synchroniser=PYTHON)
    experiment = Experiment(thinpipe, base, {"fault": {
        "none": {},
        "killed": {"on_worker_failure": restart,
                   "worker_events": [{"worker": 1, "at_iteration": 12, "action": "kill"}]}}})
    done = experiment.run()
    assert done.returncode == 0, done.stderr
    records = experiment.records()
    assert len(records) == 2, list(records)
    restarts = [len(record.get("restarts") or []) for record in records.values()]
    assert sorted(restarts) == [0, 1], restarts
    assert len({record["parameters_hash"] for record in records.values()}) == 1


def test_sums_of_codes_are_planned_like_those_of_its_twin(thinpipe):
    base = small_run(topology="three-switch", collective={"name": "island"}, mode="live")
    done = Experiment(thinpipe, base, {"method": {
        "python": {"synchroniser": {"name": str(METHODS / "summed_codes.py") + ":SummedCodes"}},
        "c++": {"synchroniser": {"name": "terngrad", "exchange": "all_reduce"}}}}).plan("--no-measuring", "--json")
    assert done.returncode == 0, done.stderr
    python, twin = json.loads(done.stdout)
    for member in ("plan", "prediction", "sent_bytes_per_iteration"):
        assert python[member] == twin[member], (python[member], twin[member])


def expect_refused(thinpipe, synchroniser, *words):
    done = Experiment(thinpipe, small_run(workers=2, synchroniser=synchroniser)).plan()
    assert done.returncode == 2, done
    for word in words:
        assert word in done.stderr, f"{word} is missing from: {done.stderr}"


def test_wrong_input_is_refused_before_the_run(thinpipe):
    expect_refused(thinpipe, {**PYTHON, "ratio": 2}, "/synchroniser/ratio", "at most 1")
    expect_refused(thinpipe, {**PYTHON, "ratoi": 0.1}, "/synchroniser", "ratoi", "ratio")


def test_contradictions_are_refused_before_the_run(thinpipe):
    expect_refused(thinpipe, {"name": f"{METHODS}/momentum.py:ForgetsDense"}, "ForgetsDense applies momentum, but not to ")
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "wrong.py"
        wrong.write_text("import thinpipe\n\nclass Mine(thinpipe.Compressor):\n    exchange = 'allreduce'\n")
        expect_refused(thinpipe, {"name": f"{wrong}:Mine"}, "Mine.exchange must be 'all_gather' or 'all_reduce'")


def slow_test_wrong_files_are_refused_before_the_run(thinpipe):
    expect_refused(thinpipe, {"name": "missing.py:MyTopK"}, "missing.py", "does not exist")
    expect_refused(thinpipe, {"name": str(METHODS / "topk_residual.py") + ":MyTopk"}, "has no MyTopk", "MyTopK")
    expect_refused(thinpipe, {"name": str(METHODS / "topk_residual.py") + ":thinpipe"}, "must be a class that extends")
    with tempfile.TemporaryDirectory() as folder:
        wrong = Path(folder) / "wrong.py"
        wrong.write_text("import thinpipe\n\nclass Mine(thinpipe.Synchroniser)\n    pass\n")
        expect_refused(thinpipe, {"name": f"{wrong}:Mine"}, "wrong.py:3", "SyntaxError")
        wrong.write_text("import a_module_that_does_not_exist\n")
        expect_refused(thinpipe, {"name": f"{wrong}:Mine"}, "wrong.py:1", "ModuleNotFoundError")


RAISES_LATER = """
import torch
import thinpipe

class Late(thinpipe.Synchroniser):
    properties = thinpipe.Properties(traffic_depends_on_data=False)

    def begin_step(self, step):
        self.step = step

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        if self.step == 3:
            raise ValueError("the third step is too much")

    def traffic(self, bucket, workers):
        return 4 * bucket.size
"""


def slow_test_an_error_ends_the_run_with_its_place(thinpipe):
    with tempfile.TemporaryDirectory() as folder:
        late = Path(folder) / "late.py"
        late.write_text(RAISES_LATER)
        base = small_run(workers=2, mode="live", topology="loopback", synchroniser={"name": f"{late}:Late"})
        experiment = Experiment(thinpipe, base)
        done = experiment.run()
        assert done.returncode == 1, done
        (record,) = experiment.records().values()
        assert record["status"] == "failed", record["status"]
        error = record["error"]
        assert "late.py:14: ValueError: the third step is too much" in error["message"], error
        assert "Traceback" in str(error.get("log_tail")) or "in synchronise" in str(error.get("log_tail")), error


SENSES = """
import thinpipe

class Senses(thinpipe.Synchroniser):
    senses_network = True

    def start(self, context):
        self.seen = []

    def synchronise(self, bucket, net):
        net.all_reduce(bucket.gradient)
        bucket.gradient /= net.world_size

    def observe(self, step):
        assert step.exchange_s > 0 and step.compute_s > 0
        self.seen.append(step.sent_bytes)

    def statistics(self):
        return {"steps": len(self.seen), "least": min(self.seen, default=0), "most": max(self.seen, default=0),
                "unknown": float("nan")}
"""


def slow_test_observes_every_step_of_a_live_run(thinpipe):
    with tempfile.TemporaryDirectory() as folder:
        senses = Path(folder) / "senses.py"
        senses.write_text(SENSES)
        method = {"name": f"{senses}:Senses"}
        experiment = Experiment(thinpipe, small_run(workers=2, mode="live", topology="loopback", synchroniser=method))
        done = experiment.run()
        assert done.returncode == 0, done.stderr
        (record,) = experiment.records().values()
        seen = record["synchroniser"]
        assert seen["unknown"] is None, seen
        assert seen["steps"] == record["iterations"] > 0, seen
        sent_bytes = record["traffic"]["sent_bytes_per_worker"] / record["iterations"]
        # Without the observations' own bytes, which the record counts too.
        assert 0.9 * sent_bytes < seen["least"] == seen["most"] <= sent_bytes, (seen, sent_bytes)
        expect_refused(thinpipe, method, "works only in mode \"live\"")


def main():
    thinpipe = sys.argv[-1]
    prefix = "slow_test_" if "--slow" in sys.argv else "test_"
    for name, test in list(globals().items()):
        if name.startswith(prefix):
            test(thinpipe)
            print(f"{name}: ok", flush=True)


if __name__ == "__main__":
    main()
