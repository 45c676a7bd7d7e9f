"""Trajectories against PyTorch's own DistributedDataParallel: same weights, same batches, 50 steps.

Dense against the plain one, fp16 against its fp16_compress_hook, on a small convolutional and a narrow residual
network, and on the former powersgd against its powerSGD_hook, with 2 and 4 workers.

Usage: ddp_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import gzip
import socket
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

try:
    import numpy as np
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

DATA = Path("/usr/share/datasets/fashion-mnist")
BATCH, STEPS, SEED = 16, 50, 4
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.02, 0.9, 5e-4
# Both sum in float32, in another order, over 50 steps; a wrong average or a stale gradient differs in the first digits.
RELATIVE_TOLERANCE = 1e-4


class SmallCnn(nn.Module):
    """`small_cnn` of width 4 with 64 hidden units, written with PyTorch's own layers."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(8 * 7 * 7, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = torch.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc2(torch.relu(self.fc1(x.flatten(1))))


class Block(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outside)
        self.downsample = None
        if stride != 1 or inside != outside:
            self.downsample = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        x = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(x)) + shortcut)


class Resnet18(nn.Module):
    """`resnet` of width 4, 4 stages and 2 blocks a stage: ResNet-18 for small images, but narrow."""

    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 8, 2), Block(8, 8, 1))
        self.layer3 = nn.Sequential(Block(8, 16, 2), Block(16, 16, 1))
        self.layer4 = nn.Sequential(Block(16, 32, 2), Block(32, 32, 1))
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


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
    model: type
    description: dict  # the same model in Thinpipe's words
    workers: int
    synchroniser: dict
    buckets: dict = field(default_factory=lambda: SEVERAL)


SMALL_CNN = {"name": "small_cnn", "width": 4, "hidden": 64}
RESNET_18 = {"name": "resnet", "width": 4, "stages": 4, "blocks_per_stage": 2}
DENSE, FP16 = {"name": "dense"}, {"name": "fp16", "variant": "pytorch"}
# The hook needs two dense steps, after which DistributedDataParallel has its final buckets.
POWERSGD = {"name": "powersgd", "start_step": 2, "min_compression": 2}
CASES = [
    Case(SmallCnn, SMALL_CNN, 2, DENSE),
    Case(SmallCnn, SMALL_CNN, 4, DENSE),
    Case(Resnet18, RESNET_18, 2, DENSE),
    # Training a network this narrow with batch normalisation is chaotic: a last bit of a gradient grows tenfold a step. Two
    # workers have one order of summation and so the same bits; four have several, which only equal buckets make equal.
    Case(Resnet18, RESNET_18, 4, DENSE, buckets=ONE),
    Case(SmallCnn, SMALL_CNN, 2, FP16),
    Case(SmallCnn, SMALL_CNN, 4, FP16, buckets=ONE),
    Case(Resnet18, RESNET_18, 2, FP16),
    Case(Resnet18, RESNET_18, 4, FP16, buckets=ONE),
    # Some matrices travel as factors, some dense. The hook orthonormalises by Gram-Schmidt up to rank 2, else by QR; it
    # rounds otherwise than we do, and so no residual network here.
    Case(SmallCnn, SMALL_CNN, 2, POWERSGD | {"rank": 1}),
    Case(SmallCnn, SMALL_CNN, 2, POWERSGD | {"rank": 2}),
    Case(SmallCnn, SMALL_CNN, 4, POWERSGD | {"rank": 3}),
]


def philox_words(seed, step, bucket):
    """A stream that all workers share, from the generator's definition (Salmon et al., 2011)."""
    lane, mask = 0, 0xFFFFFFFF
    while True:
        key, counter = [seed & mask, seed >> 32], [step, bucket, mask, lane]
        for _ in range(10):
            a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = [(b >> 32) ^ counter[1] ^ key[0], b & mask, (a >> 32) ^ counter[3] ^ key[1], a & mask]
            key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
        yield from counter
        lane += 1


def permutation(examples, seed, epoch):
    words, order = philox_words(seed, epoch, 0xFFFFFFFF), list(range(examples))
    for remaining in range(examples, 1, -1):
        product = next(words) * remaining
        while product & 0xFFFFFFFF < 2**32 % remaining:
            product = next(words) * remaining
        chosen = product >> 32
        order[remaining - 1], order[chosen] = order[chosen], order[remaining - 1]
    return order


def training_data(count):
    images = np.frombuffer(gzip.open(DATA / "train-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
    labels = np.frombuffer(gzip.open(DATA / "train-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    images = torch.from_numpy(images[: count * 784].reshape(-1, 1, 28, 28).astype(np.float32))
    # (x / 255 - mean) / deviation in the order of operations that the trainer has, to the bit: a residual network this
    # narrow makes a last bit of its input the fourth digit of its loss within three steps.
    images = images * np.float32(1 / (255 * 0.3530)) + np.float32(-0.2860 / 0.3530)
    return images, torch.from_numpy(labels[:count].astype(np.int64))


def register_hook(model, method, parameters):
    if method["name"] == "fp16":
        model.register_comm_hook(None, fp16_compress_hook)
    if method["name"] == "powersgd":
        powersgd_hook.register(model, method, parameters, lambda *stream: philox_words(SEED, *stream))


def ddp_worker(rank, case, port, weights, results):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=case.workers)
    model = case.model()
    model.load_state_dict(weights)
    parameters = list(model.parameters())
    model = nn.parallel.DistributedDataParallel(BackToFront(model))
    register_hook(model, case.synchroniser, parameters)
    optimiser = torch.optim.SGD(model.parameters(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)
    images, labels = training_data(case.workers * BATCH * STEPS)
    order = permutation(len(labels), SEED, 0)
    losses = []
    for step in range(STEPS):
        first = (step * case.workers + rank) * BATCH
        batch = order[first : first + BATCH]
        optimiser.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    if rank == 0:
        results.put(losses)
    dist.barrier()


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
        "model": case.description,
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
    weights = case.model().state_dict()
    with tempfile.TemporaryDirectory() as folder:
        ours = thinpipe_losses(trainer, case, weights, Path(folder))
    theirs = ddp_losses(case, weights)
    assert len(ours) == len(theirs) == STEPS, (len(ours), len(theirs))
    worst = max(abs(a - b) / b for a, b in zip(ours, theirs))
    method = ", ".join(value if key == "name" else f"{key} {value}" for key, value in case.synchroniser.items())
    name = f"{method}, {case.description['name']}, {case.workers} workers"
    print(f"{name}: loss of rank 0 from {theirs[0]:.4f} to {theirs[-1]:.4f} over {STEPS} steps, "
          f"largest relative difference from DistributedDataParallel {worst:.2e}", flush=True)
    assert worst < RELATIVE_TOLERANCE, list(zip(ours, theirs))
    assert theirs[-1] < 0.8 * theirs[0], "the comparison needs a training that gets somewhere"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if not DATA.is_dir():
        print(f"SKIPPED: {DATA} is missing; install dataset-fashion-mnist")
        sys.exit(77)
    for case in CASES:
        compare(sys.argv[1], case)


if __name__ == "__main__":
    main()
