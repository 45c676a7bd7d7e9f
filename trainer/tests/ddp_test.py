# SPDX-License-Identifier: Apache-2.0
"""Compares training steps with PyTorch's DistributedDataParallel: same weights and batches, compared by final weights.

Compares dense with the plain DistributedDataParallel and fp16 with its fp16_compress_hook, on a small convolutional and
a narrow residual network; and powersgd with its powerSGD_hook, on the former. With 2 and 4 workers.

Usage: ddp_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import os
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# One thread each, as in the trainer. torch.set_num_threads() has no effect on an OpenBLAS built on pthreads,
# which reads the environment when it is loaded. With more threads, its AVX2 kernels divide a matrix and then
# round differently.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch import nn
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-torch")
    sys.exit(77)

import powersgd_hook
import workers
from pytorch_reference import models, training_data

BATCH, SEED = 16, 4
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.02, 0.9, 5e-4
# Momentum and the final buckets take effect from the second step, PowerSGD from the third, its
# residuals from the fourth.
STEPS = 6
STEPS_BEFORE = 40
# The distance of a tensor of weights from theirs, in the Euclidean norm, relative to the distance that
# the steps moved it.
#
# One rounding of float32 is 6e-8. Even if the two programs use kernels for different CPUs, six steps turn it into 2e-6
# in the convolutional network, and into 5e-5 in the narrow residual one, which magnifies a difference in every step.
# fp16 also magnifies it: an entry at the border of two halves rounds to the other one, 2^-11 away. That happens to few
# entries, and adds up to 3e-5. Faults are far above: 3e-4 if half precision is left out, 6e-4 if it is rounded towards
# zero, 9e-4 for an average that is wrong by a thousandth, 1e-1 for eight entries that are a step late.
WEIGHT_TOLERANCE = 1e-4
# A mean of float32 over 16 examples, from weights that differ by that little.
LOSS_TOLERANCE = 1e-5


class BackToFront(nn.Module):
    """A model with its parameters in reverse order: the order in a bucket until the order of arrival is known.

    DistributedDataParallel takes parameters forwards, Thinpipe backwards; a gradient's position in a bucket decides the
    order in which four workers' gradients are summed.
    """

    def __init__(self, model):
        super().__init__()
        self.parameters_in_order = nn.ParameterList(reversed(list(model.parameters())))
        self.model = [model]  # in a list, so that its parameters are not registered twice

    def forward(self, x):
        return self.model[0](x)


# Several buckets, to test overlap and the rebuilt layout; and one bucket, DistributedDataParallel's default for models
# this small.
SEVERAL, ONE = {"first_size": "1 kB", "size": "10 kB"}, {"first_size": "1 MiB", "size": "25 MiB"}


@dataclass
class Case:
    model: dict
    workers: int
    synchroniser: dict
    buckets: dict = field(default_factory=lambda: SEVERAL)
    clip_norm: float | None = None

    def __str__(self):
        method = ", ".join(value if key == "name" else f"{key} {value}" for key, value in self.synchroniser.items())
        clipped = "" if self.clip_norm is None else f", clipped to {self.clip_norm}"
        return f"{method}{clipped}, {self.model['name']}, {self.workers} workers"


SMALL_CNN = {"name": "small_cnn", "width": 4, "hidden": 64}
# ResNet-18 for small images, but narrow.
RESNET_18 = {"name": "resnet", "width": 4, "stages": 4, "blocks_per_stage": 2}
DENSE, FP16 = {"name": "dense"}, {"name": "fp16", "variant": "pytorch"}
# The hook needs two dense steps, after which DistributedDataParallel has its final buckets.
POWERSGD = {"name": "powersgd", "start_step": 2, "min_compression": 2}
CASES = [
    Case(SMALL_CNN, 2, DENSE),
    Case(SMALL_CNN, 4, DENSE),
    Case(RESNET_18, 2, DENSE),
    # Two workers have one order of summation and so the same bits. Four workers have several orders, which are equal
    # only if the buckets are; the residual network and half precision magnify differences in rounding.
    Case(RESNET_18, 4, DENSE, buckets=ONE),
    Case(SMALL_CNN, 2, FP16),
    Case(SMALL_CNN, 4, FP16, buckets=ONE),
    Case(RESNET_18, 2, FP16),
    Case(RESNET_18, 4, FP16, buckets=ONE),
    # The norm is the mean gradient's; both programs clip in every step.
    Case(SMALL_CNN, 2, DENSE, clip_norm=0.5),
    Case(SMALL_CNN, 4, FP16, buckets=ONE, clip_norm=0.5),
    # Some matrices travel as factors, some dense. The hook orthonormalises by Gram-Schmidt up to rank 2, otherwise by
    # QR. It rounds differently from us, so no residual network is compared here.
    Case(SMALL_CNN, 2, POWERSGD | {"rank": 1}),
    Case(SMALL_CNN, 2, POWERSGD | {"rank": 2}),
    Case(SMALL_CNN, 4, POWERSGD | {"rank": 3}),
]


def register_hook(model, method, parameters):
    if method["name"] == "fp16":
        model.register_comm_hook(None, fp16_compress_hook)
    if method["name"] == "powersgd":
        powersgd_hook.register(model, method, parameters, lambda *stream: training_data.words_of_stream(SEED, *stream))


def examples_of(world_size, steps):
    return world_size * BATCH * steps


def train(model, examples, steps, rank=0, world_size=1, clip_norm=None):
    """Returns the loss of each step."""
    optimiser = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)
    order = training_data.epoch_order(examples_of(world_size, steps), SEED, 0)
    losses = []
    for step in range(steps):
        first = (step * world_size + rank) * BATCH
        images, labels = examples.batch(order[first : first + BATCH])
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        if clip_norm is not None:
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
            assert norm > clip_norm, f"nothing to clip: {norm}"
        optimiser.step()
        losses.append(loss.item())
    return losses


def weights_on_the_way(description):
    """Returns the weights of a model after some training: a new model's gradients are small."""
    torch.manual_seed(0)
    model = models.make(description)
    examples = training_data.FashionMnist("train", examples_of(1, STEPS_BEFORE))
    losses = train(model, examples, STEPS_BEFORE)
    first, last = (sum(part) / len(part) for part in (losses[:10], losses[-10:]))
    assert last < 0.8 * first, f"the comparison needs a training run whose loss falls: {losses}"
    return model.state_dict()


def ddp_worker(rank, weights, folder):
    """Runs every case that has this rank in one process, because starting a process takes seconds."""
    torch.set_num_threads(1)
    examples = training_data.FashionMnist("train", examples_of(max(case.workers for case in CASES), STEPS))
    for place, case in enumerate(CASES):
        if rank >= case.workers:
            continue
        dist.init_process_group("gloo", f"file://{folder}/group-{place}", rank=rank, world_size=case.workers)
        bare = models.make(case.model)
        bare.load_state_dict(weights[case.model["name"]])
        model = nn.parallel.DistributedDataParallel(BackToFront(bare))
        register_hook(model, case.synchroniser, list(bare.parameters()))
        losses = train(model, examples, STEPS, rank, case.workers, case.clip_norm)
        if rank == 0:
            state = {name: parameter.detach() for name, parameter in bare.named_parameters()}
            torch.save({"losses": losses, "weights": state}, folder / f"theirs-{place}.pt")
        dist.barrier()
        dist.destroy_process_group()
    # PyTorch 2.14 sometimes aborts a process that ends while one of PyTorch's threads is running.
    os._exit(0)


def train_thinpipe(trainer, case, weights, folder):
    """Returns the loss of each step on rank 0, and its weights after the last one."""
    folder.mkdir()
    torch.save(weights, folder / "weights.pt")
    config = {
        "seed": SEED,
        "workers": case.workers,
        "model": case.model,
        "dataset": {
            "name": "fashion_mnist",
            "train_examples": examples_of(case.workers, STEPS),
            "test_examples": 100,
        },
        "optimiser": {
            "name": "sgd",
            "learning_rate": LEARNING_RATE,
            "momentum": MOMENTUM,
            "weight_decay": WEIGHT_DECAY,
        },
        "synchroniser": case.synchroniser,
        # Gloo, like theirs, because it sums in the same order.
        "collective": {"name": "gloo"},
        "training": {"batch_size_per_worker": BATCH, "clip_norm": case.clip_norm},
        "buckets": case.buckets,
    }
    checkpoint = {"directory": str(folder / "checkpoints"), "every_iterations": STEPS}
    events = workers.finish(workers.start(trainer, folder, config, folder / "weights.pt", checkpoint))
    losses = [event["train_loss"] for event in events if event["event"] == "iteration"]
    return losses, torch.load(folder / "checkpoints" / f"rank-0.iteration-{STEPS}.pt")


def compare(trainer, case, start, theirs, folder):
    losses, checkpoint = train_thinpipe(trainer, case, start, folder)
    assert len(losses) == len(theirs["losses"]) == STEPS, (losses, theirs["losses"])
    of_losses = [abs(a - b) / b for a, b in zip(losses, theirs["losses"])]
    of_weights = {
        name: ((checkpoint[f"model.{name}"] - end).norm() / (end - start[name]).norm()).item()
        for name, end in theirs["weights"].items()
    }
    print(f"{case}: largest relative difference from DistributedDataParallel's {max(of_losses):.2e} of a loss, "
          f"{max(of_weights.values()):.2e} of a tensor's change in {STEPS} steps", flush=True)
    assert all(difference < LOSS_TOLERANCE for difference in of_losses), list(zip(losses, theirs["losses"]))
    assert all(difference < WEIGHT_TOLERANCE for difference in of_weights.values()), of_weights


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not training_data.FASHION_MNIST.is_dir():
        print(f"SKIPPED: {training_data.FASHION_MNIST} is missing; install dataset-fashion-mnist")
        sys.exit(77)
    torch.set_num_threads(1)
    weights = {model["name"]: weights_on_the_way(model) for model in (SMALL_CNN, RESNET_18)}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mp.spawn(ddp_worker, (weights, folder), nprocs=max(case.workers for case in CASES))
        for place, case in enumerate(CASES):
            theirs = torch.load(folder / f"theirs-{place}.pt")
            compare(sys.argv[1], case, weights[case.model["name"]], theirs, folder / f"ours-{place}")


if __name__ == "__main__":
    main()
