# SPDX-License-Identifier: Apache-2.0
"""Tests what workers in Python get from thinpipe._core.Training: data, model, schedule and evaluation.

Usage: training_test.py FOLDER     FOLDER has the package thinpipe
"""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

sys.path.insert(0, sys.argv.pop())
from thinpipe import _core, hooks, models, training  # noqa: E402

METHODS = Path(__file__).resolve().parent / "methods"
WITH_DROPOUT = f"{METHODS}/with_dropout.py:WithDropout"
VIT = {"name": "vit_tiny", "width": 16, "depth": 1, "heads": 2, "dropout": 0.5}


def config_of(**more):
    return {
        "workers": 2,
        "model": {"name": "mlp", "hidden": [8]},
        "dataset": {"name": "synthetic", "train_examples": 64, "test_examples": 12},
        "optimiser": {"name": "sgd", "learning_rate": 0.5},
        "training": {"batch_size_per_worker": 8, "epochs": 2},
        **more,
    }


def make(rank=0, weights=None, **more):
    return _core.Training(json.dumps(config_of(**more)), rank, weights)


class Schedule(unittest.TestCase):
    def test_iterations_and_learning_rates(self):
        made = make(schedule={"warmup_iterations": 2, "shape": "step", "step_epochs": [1]})
        self.assertEqual((made.iterations, made.iterations_per_epoch), (8, 4))
        self.assertEqual([made.learning_rate(i) for i in (0, 1, 3)], [0.25, 0.5, 0.5])
        self.assertAlmostEqual(made.learning_rate(4), 0.05)

    def test_sizes_of_buckets(self):
        made = make(buckets={"first_size": "3 KiB", "size": "2 MB"})
        self.assertEqual((made.first_bucket_bytes, made.bucket_bytes), (3 << 10, 2_000_000))
        self.assertEqual(make(buckets={"size": "auto"}).bucket_bytes, 25 << 20)


class Data(unittest.TestCase):
    def test_ranks_have_other_batches_and_a_batch_can_be_asked_for_again(self):
        zero, one = make(0), make(1)
        inputs, labels = zero.begin_iteration(3)
        self.assertEqual((len(inputs), labels.dtype), (8, torch.int64))
        self.assertFalse(torch.equal(inputs, one.begin_iteration(3)[0]))
        zero.begin_iteration(0)
        self.assertTrue(torch.equal(inputs, zero.begin_iteration(3)[0]))

    def test_the_parts_of_an_evaluation_are_the_whole_test_set(self):
        parts = [make(rank, workers=3).evaluate_part() for rank in range(3)]
        loss, correct = make(workers=1).evaluate_part()
        self.assertAlmostEqual(sum(part[0] for part in parts), loss, places=4)
        self.assertEqual(sum(part[1] for part in parts), correct)

    def test_an_option_that_is_wrong_is_named(self):
        with self.assertRaisesRegex(_core.InputError, "/model/hiden"):
            make(model={"name": "mlp", "hiden": [8]})


class ModelInCpp(unittest.TestCase):
    def test_has_parameters_and_buffers_under_their_names_in_their_order(self):
        made = make(model={"name": "resnet", "width": 4})
        module = training.module_of(made)
        self.assertEqual([name for name, _ in module.named_parameters()], [name for name, _ in made.parameters])
        self.assertEqual([name for name, _ in module.named_buffers()], [name for name, _ in made.buffers])
        self.assertIn("layer1.0.conv1.weight", module.state_dict())
        self.assertTrue(all(isinstance(parameter, nn.Parameter) for parameter in module.parameters()))
        self.assertIn("layer1.0.conv1.weight", models.prunable(module))
        self.assertNotIn("bn1.weight", models.prunable(module))

    def test_computes_gradients_and_trains(self):
        made = make()
        module = training.module_of(made)
        optimiser = torch.optim.SGD(module.parameters(), 0.1)
        inputs, labels = made.begin_iteration(0)
        losses = []
        for _ in range(5):
            optimiser.zero_grad()
            loss = made.loss(module(inputs), labels)
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
        self.assertTrue(all(parameter.grad.abs().sum() > 0 for parameter in module.parameters()))
        self.assertLess(losses[-1], losses[0])

    def test_passes_its_mode_on(self):
        made = make(model={"name": "resnet", "width": 4})
        module = training.module_of(made)
        inputs, _ = made.begin_iteration(0)
        before = module.bn1.running_mean.clone()
        module.eval()
        module(inputs)
        self.assertTrue(torch.equal(before, module.bn1.running_mean))
        module.train()
        module(inputs)
        self.assertFalse(torch.equal(before, module.bn1.running_mean))

    def test_starts_from_a_file_of_weights(self):
        first, second = make(seed=1), make(seed=2)
        self.assertNotEqual(first.parameters_hash, second.parameters_hash)
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "weights.pt")
            torch.save(dict(training.module_of(first).state_dict()), file)
            self.assertEqual(make(seed=2, weights=file).parameters_hash, first.parameters_hash)


class Buckets(unittest.TestCase):
    """Of DistributedDataParallel have the configured sizes, also the first one."""

    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        dist.init_process_group("gloo", f"file://{folder}/group", rank=0, world_size=1)
        self.addCleanup(dist.destroy_process_group)

    def sizes(self, first_bytes, others_bytes):
        """Returns the numbers of entries after the layout has been made anew, which the first step does."""
        model = nn.Sequential(*(nn.Linear(10, 10, bias=False) for _ in range(6)))
        replica = hooks.replica_of(model, first_bytes, others_bytes)
        seen = []

        def note(state, bucket):
            seen.append((bucket.index(), bucket.buffer().numel()))
            future = torch.futures.Future()
            future.set_result(bucket.buffer())
            return future

        replica.register_comm_hook(None, note)
        for _ in range(2):
            seen.clear()
            replica.backward(replica(torch.ones(1, 10)).sum())
        return [size for _, size in sorted(seen)]

    def test_are_as_configured(self):
        self.assertEqual(self.sizes(400, 800), [100, 200, 200, 100])
        self.assertEqual(self.sizes(400, 25 << 20), [100, 500])
        self.assertEqual(self.sizes(1200, 1200), [300, 300])


class ModelInPython(unittest.TestCase):
    def make(self, name):
        return make(model={"name": f"{METHODS}/awkward_models.py:{name}"})

    def test_with_a_frozen_parameter_is_refused(self):
        with self.assertRaisesRegex(_core.InputError, "Frozen: the parameter normalisation.weight must have requires_grad"):
            self.make("Frozen")

    def test_that_returns_no_tensor_is_refused(self):
        with self.assertRaisesRegex(_core.InputError, "Pair.forward must return a tensor, but returns tuple"):
            self.make("Pair")

    def test_sets_its_mode_itself(self):
        for name, changes in ("Plain", True), ("KeepsStatistics", False):
            made = self.make(name)
            module = made.module
            before = module.normalisation.running_mean.clone()
            made.forward(made.begin_iteration(0)[0])
            self.assertEqual((module.training, module.normalisation.training), (True, changes))
            self.assertEqual(not torch.equal(before, module.normalisation.running_mean), changes)
            made.train(False)
            self.assertEqual((module.training, module.normalisation.training, module.layer.training), (False,) * 3)


class Dropout(unittest.TestCase):
    """Drops by the iteration and the rank alone, in a model in C++ and in a file of the user's."""

    def outputs(self, model, iterations, rank=0):
        made = make(rank, model=model)
        module = training.module_of(made)
        module.train()
        torch.manual_seed(0)
        for parameter in module.parameters():  # a new vit's classifier is zero
            nn.init.normal_(parameter)
        shape = make(model=model).begin_iteration(0)[0].shape
        out = []
        for iteration in iterations:
            made.begin_iteration(iteration)
            out.append(module(torch.ones(shape)).detach())
        return out

    def test_of_a_model_in_cpp(self):
        self.compare(VIT)

    def test_of_a_model_in_python(self):
        self.assertEqual(type(training.module_of(make(model={"name": WITH_DROPOUT}))).__name__, "WithDropout")
        self.compare({"name": WITH_DROPOUT})

    def compare(self, model):
        one, two, again = self.outputs(model, [4, 5, 4])
        self.assertTrue(torch.equal(one, again))
        self.assertFalse(torch.equal(one, two))
        self.assertFalse(torch.equal(one, self.outputs(model, [4], rank=1)[0]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
