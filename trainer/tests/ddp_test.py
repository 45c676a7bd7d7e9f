"""Trajectories against PyTorch's own DistributedDataParallel: same weights, same batches, 50 steps.

Dense against the plain one, fp16 against its fp16_compress_hook, on a small convolutional and a narrow residual
network, and on the former powersgd against its powerSGD_hook, with 2 and 4 workers.

Usage: ddp_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import os
import socket
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
    from torch import nn
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-torch")
    sys.exit(77)

sys.path.append(str(Path(__file__).parents[1] / "programs"))
import powersgd_hook
import workers
from pytorch_parts import models, training_data

BATCH, STEPS, SEED = 16, 50, 4
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.02, 0.9, 5e-4
# Both sum in float32, in another order, over 50 steps; a wrong average or a stale gradient differs in the first digits.
RELATIVE_TOLERANCE = 1e-4


class BackToFront(nn.Module):
    """A model with its parameters in the reverse order: the order in a bucket until that of arrival is known.

    DistributedDataParallel goes through parameters forwards, Thinpipe backwards, and where a gradient lies in a bucket
    decides in which order four workers' are summed.
    """

    def __init__(self, model):
        super().__init__()
        self.parameters_in_order = nn.ParameterList(reversed(list(model.parameters())))
        self.model = [model]  # in a list, so that its parameters are not registered once more

    def forward(self, x):
        return self.model[0](x)


# Several buckets, so that overlap and the rebuilt layout take part; and all in one, as DistributedDataParallel has it by
# default for models so small.
SEVERAL, ONE = {"first_size": "1 kB", "size": "10 kB"}, {"first_size": "1 MiB", "size": "25 MiB"}


@dataclass
class Case:
    model: dict
    workers: int
    synchroniser: dict
    buckets: dict = field(default_factory=lambda: SEVERAL)


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
    # Training a network this narrow with batch normalisation is chaotic: a last bit of a gradient grows tenfold a step. Two
    # workers have one order of summation and so the same bits; four have several, which only equal buckets make equal.
    Case(RESNET_18, 4, DENSE, buckets=ONE),
    Case(SMALL_CNN, 2, FP16),
    Case(SMALL_CNN, 4, FP16, buckets=ONE),
    Case(RESNET_18, 2, FP16),
    Case(RESNET_18, 4, FP16, buckets=ONE),
    # Some matrices travel as factors, some dense. The hook orthonormalises by Gram-Schmidt up to rank 2, else by QR; it
    # rounds otherwise than we do, and so no residual network here.
    Case(SMALL_CNN, 2, POWERSGD | {"rank": 1}),
    Case(SMALL_CNN, 2, POWERSGD | {"rank": 2}),
    Case(SMALL_CNN, 4, POWERSGD | {"rank": 3}),
]


def register_hook(model, method, parameters):
    if method["name"] == "fp16":
        model.register_comm_hook(None, fp16_compress_hook)
    if method["name"] == "powersgd":
        powersgd_hook.register(model, method, parameters, lambda *stream: training_data.words_of_stream(SEED, *stream))


def ddp_worker(rank, case, port, weights, results):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=case.workers)
    model = models.make(case.model)
    model.load_state_dict(weights)
    parameters = list(model.parameters())
    model = nn.parallel.DistributedDataParallel(BackToFront(model))
    register_hook(model, case.synchroniser, parameters)
    optimiser = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)
    examples = training_data.FashionMnist("train", case.workers * BATCH * STEPS)
    order = training_data.epoch_order(len(examples), SEED, 0)
    losses = []
    for step in range(STEPS):
        first = (step * case.workers + rank) * BATCH
        images, labels = examples.batch(order[first : first + BATCH])
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    if rank == 0:
        results.put(losses)
    dist.barrier()
    # As PyTorch 2.14 now and then aborts a process that ends while a thread of its own is left.
    os._exit(0)


def ddp_losses(case, weights):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    results = mp.get_context("spawn").SimpleQueue()
    processes = mp.spawn(ddp_worker, (case, port, weights, results), nprocs=case.workers, join=False)
    while not processes.join():  # raises what a worker raised
        pass
    return results.get()


def thinpipe_losses(trainer, case, weights, folder):
    torch.save(weights, folder / "weights.pt")
    config = {
        "seed": SEED,
        "workers": case.workers,
        "model": case.model,
        "dataset": {"name": "fashion_mnist", "train_examples": case.workers * BATCH * STEPS, "test_examples": 100},
        "optimiser": {
            "name": "sgd",
            "learning_rate": LEARNING_RATE,
            "momentum": MOMENTUM,
            "weight_decay": WEIGHT_DECAY,
        },
        "synchroniser": case.synchroniser,
        # As theirs: the residual network magnifies what another order of summing rounds.
        "collective": {"name": "gloo"},
        "training": {"batch_size_per_worker": BATCH},
        "buckets": case.buckets,
    }
    events = workers.finish(workers.start(trainer, folder, config, folder / "weights.pt"))
    return [event["train_loss"] for event in events if event["event"] == "iteration"]


def compare(trainer, case):
    torch.manual_seed(0)
    weights = models.make(case.model).state_dict()
    with tempfile.TemporaryDirectory() as folder:
        ours = thinpipe_losses(trainer, case, weights, Path(folder))
    theirs = ddp_losses(case, weights)
    assert len(ours) == len(theirs) == STEPS, (len(ours), len(theirs))
    worst = max(abs(a - b) / b for a, b in zip(ours, theirs))
    method = ", ".join(value if key == "name" else f"{key} {value}" for key, value in case.synchroniser.items())
    name = f"{method}, {case.model['name']}, {case.workers} workers"
    print(f"{name}: loss of rank 0 from {theirs[0]:.4f} to {theirs[-1]:.4f} over {STEPS} steps, "
          f"largest relative difference from DistributedDataParallel {worst:.2e}", flush=True)
    assert worst < RELATIVE_TOLERANCE, list(zip(ours, theirs))
    assert theirs[-1] < 0.8 * theirs[0], "the comparison needs a training that gets somewhere"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not training_data.FASHION_MNIST.is_dir():
        print(f"SKIPPED: {training_data.FASHION_MNIST} is missing; install dataset-fashion-mnist")
        sys.exit(77)
    for case in CASES:
        compare(sys.argv[1], case)


if __name__ == "__main__":
    main()
