#!/usr/bin/python3
"""A worker written in PyTorch: DistributedDataParallel over its own Gloo, instead of thinpipe-trainer.

An experiment with {"trainer": "pytorch-ddp"} starts `pytorch-ddp.py work FILE` for each worker. docs/trainers.md
describes what such a program reads and reports. Supported synchronisers: dense, fp16 (fp16_compress_hook) and powersgd
(powerSGD_hook). Supported models: those in pytorch_parts/models.py.
"""
from __future__ import annotations

import fcntl
import json
import math
import os
import resource
import socket
import struct
import sys
import threading
import time
import warnings
from pathlib import Path

RANK = 0


def report(event: str, /, **more) -> None:
    print(json.dumps({"event": event, "rank": RANK, **more}, allow_nan=False), flush=True)


def finite(number: float) -> float | None:
    """Replaces NaN and infinity, which JSON does not have, by null, as the protocol requires."""
    return number if math.isfinite(number) else None


def fail(kind: str, message: str) -> int:
    report("failed", kind=kind, message=message)
    print(f"{kind}: {message}", file=sys.stderr)
    return 1


# Each worker computes on one core, like thinpipe-trainer's. OpenBLAS reads this when it is loaded; its idle threads
# would take CPU time from the threads that communicate.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

    from pytorch_parts import learning_rate, models, weights
    from pytorch_parts.training_data import FashionMnist, epoch_order
except ImportError as error:
    sys.exit(fail("input", f"{error}; install python3-torch and python3-numpy"))

# The units of common/support/units.cc, in which a worker file gives all sizes.
UNITS = {"bytes": 1, "kB": 1000, "KiB": 1024, "MB": 1000**2, "MiB": 1024**2, "GB": 1000**3, "GiB": 1024**3}


class Refusal(Exception):
    """A configuration asks for something that this program does not support."""


class Divergence(Exception):
    """The loss is no longer finite."""


def interface_of(address: str) -> str:
    get_address = 0x8915  # SIOCGIFADDR
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode())
            try:
                answer = fcntl.ioctl(any_socket, get_address, request)
            except OSError:
                continue  # the interface has no address
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    raise RuntimeError(f"no interface has the address {address}")


def size_in_bytes(text: str) -> float:
    number, unit = text.split()
    return float(number) * UNITS[unit]


def refuse_what_is_not_done(description: dict) -> None:
    """Raises Refusal for unsupported options, so that the program trains exactly what the record states."""
    config = description["config"]
    if description["slowdowns"] or description["checkpoint"] is not None:
        raise Refusal("pytorch-ddp does not support slowdowns (worker_events) or checkpoints (on_worker_failure)")
    if config["collective"]["name"] not in ("auto", "gloo"):
        raise Refusal(f"/collective/name is {config['collective']['name']}, but pytorch-ddp supports only Gloo")
    done = {
        "/dataset/name": "fashion_mnist",
        "/partition/name": "iid",
        "/optimiser/name": "sgd",
        "/pruning/ratio": 0,
        "/training/clip_norm": None,
        "/training/label_smoothing": 0,
        "/training/check_replicas_every_iterations": 0,
        "/compute/device": "cpu",
        "/weights/head": "keep",
    }
    for pointer, value in done.items():
        found = config
        for key in pointer.strip("/").split("/"):
            found = found[key]
        if found != value:
            raise Refusal(f"{pointer} is {json.dumps(found)}, but pytorch-ddp supports only {json.dumps(value)}")


class Method:
    """A synchroniser as a communication hook of DistributedDataParallel, and the bytes it hands to collectives."""

    def __init__(self, options: dict, model: nn.parallel.DistributedDataParallel, first_bucket_bytes: int) -> None:
        self.gradient_bytes = 4 * sum(parameter.numel() for parameter in model.parameters())
        self.name, self.state, self.sent_before = options["name"], None, 0
        if self.name == "fp16":
            if options["variant"] != "pytorch":
                raise Refusal('fp16 needs {"variant": "pytorch"}, the variant that the hook implements')
            model.register_comm_hook(None, fp16_compress_hook)
        elif self.name == "powersgd":
            if options["start_step"] < 2:
                raise Refusal("powersgd needs a start_step of at least 2: the hook's first two steps are dense")
            self.state = PowerSGDState(
                process_group=None,
                matrix_approximation_rank=options["rank"],
                start_powerSGD_iter=options["start_step"],
                min_compression_rate=options["min_compression"],
            )
            if self.gradient_bytes > first_bucket_bytes:
                # The hook starts collectives from callbacks, which Gloo runs in a different order on each worker: with
                # several buckets the workers would wait for each other forever.
                raise Refusal(
                    f"PyTorch's powerSGD_hook over Gloo needs the gradient in one bucket; set buckets.first_size to at "
                    f"least {self.gradient_bytes} bytes"
                )
            model.register_comm_hook(self.state, powerSGD_hook)
        elif self.name != "dense":
            raise Refusal(f"pytorch-ddp does not support the synchroniser {self.name}, only dense, fp16 and powersgd")

    def payload_bytes(self) -> int:
        """Returns the payload bytes of the last step; for PowerSGD as its hook counts them."""
        if self.name == "fp16":
            return self.gradient_bytes // 2
        if self.state is None:
            return self.gradient_bytes
        sent = self.state.compression_stats()[2]
        of_step, self.sent_before = sent - self.sent_before, sent
        return 4 * of_step if of_step > 0 else self.gradient_bytes


class Worker:
    def __init__(self, description: dict) -> None:
        self.config = config = description["config"]
        self.rank, self.workers = description["rank"], description["world_size"]
        refuse_what_is_not_done(description)
        training = config["training"]
        self.batch_size, self.evaluate_every = training["batch_size_per_worker"], training["evaluate_every_iterations"]
        dataset, folder = config["dataset"], Path(config["dataset"]["directory"])
        self.train = FashionMnist("train", dataset["train_examples"], folder)
        self.test = FashionMnist("t10k", dataset["test_examples"], folder)
        self.per_epoch = len(self.train) // (self.batch_size * self.workers)
        self.orders = [epoch_order(len(self.train), config["seed"], epoch) for epoch in range(training["epochs"])]
        os.environ["GLOO_SOCKET_IFNAME"] = interface_of(description["address"])
        dist.init_process_group(
            "gloo", f"file://{description['rendezvous_directory']}/pytorch", rank=self.rank, world_size=self.workers
        )
        torch.manual_seed(config["seed"])
        self.bare = models.make(config["model"])
        if description["initial_weights"] is not None:
            self.bare.load_state_dict(weights.load(description["initial_weights"]))
        first_bucket_bytes = int(size_in_bytes(config["buckets"]["first_size"]))
        dist._DEFAULT_FIRST_BUCKET_BYTES = first_bucket_bytes
        size = config["buckets"]["size"]  # "auto" only if no link is capped
        self.model = nn.parallel.DistributedDataParallel(
            self.bare, bucket_cap_mb=25 if size == "auto" else size_in_bytes(size) / UNITS["MiB"]
        )
        self.method = Method(config["synchroniser"], self.model, first_bucket_bytes)
        optimiser = config["optimiser"]
        self.optimiser = torch.optim.SGD(
            self.bare.parameters(),
            optimiser["learning_rate"],
            optimiser["momentum"],
            weight_decay=optimiser["weight_decay"],
            nesterov=optimiser["nesterov"],
        )
        self.last = len(self.orders) * self.per_epoch
        self.schedule = torch.optim.lr_scheduler.LambdaLR(
            self.optimiser,
            lambda iteration: learning_rate.share(config["schedule"], iteration, self.last, self.per_epoch),
        )
        self.iteration, self.train_time_s, self.losses, self.payload_bytes = 0, 0.0, [], 0
        self.reports_starts = self.rank == 0 and description.get("report_iteration_starts", False)

    def run(self) -> None:
        self.evaluate()
        while self.iteration < self.last:
            self.step()
            if self.iteration % self.evaluate_every == 0 or self.iteration == self.last:
                self.evaluate()
        if self.rank == 0:
            self.summarise()
        dist.barrier()

    def step(self) -> None:
        if self.reports_starts:
            report(
                "iteration_started",
                iteration=self.iteration + 1,
                train_time_s=self.train_time_s,
                monotonic_s=time.monotonic(),
            )
        began, began_working = time.monotonic(), time.thread_time()
        epoch, place = divmod(self.iteration, self.per_epoch)
        first = (place * self.workers + self.rank) * self.batch_size
        images, labels = self.train.batch(self.orders[epoch][first : first + self.batch_size])
        load_s = time.monotonic() - began
        self.optimiser.zero_grad()
        loss = nn.functional.cross_entropy(self.model(images), labels)
        loss.backward()
        self.optimiser.step()
        self.schedule.step()
        iteration_time_s = time.monotonic() - began
        self.iteration += 1
        self.train_time_s += iteration_time_s
        self.losses.append(loss.item())
        payload_bytes = self.method.payload_bytes()
        self.payload_bytes += payload_bytes
        if self.rank > 0:
            return
        # Known only inside DistributedDataParallel, which overlaps the exchange with the backward pass.
        unknown = dict.fromkeys(
            ("compute_s", "encode_s", "exchange_s", "decode_s", "exposed_exchange_s", "first_bucket_s")
        )
        report(
            "iteration",
            iteration=self.iteration,
            epoch=self.iteration / self.per_epoch,
            train_time_s=self.train_time_s,
            train_loss=finite(self.losses[-1]),
            applied=True,
            iteration_time_s=iteration_time_s,
            load_s=load_s,
            cpu_s=time.thread_time() - began_working,
            payload_bytes=payload_bytes,
            sent_bytes=2 * payload_bytes * (self.workers - 1) / self.workers,
            **unknown,
        )

    @torch.no_grad()
    def evaluate(self) -> None:
        """Evaluates a part of the test set on each worker, with rank 0's statistics on all workers."""
        for buffer in self.bare.buffers():
            dist.broadcast(buffer, 0)
        self.bare.eval()
        begin, end = (len(self.test) * rank // self.workers for rank in (self.rank, self.rank + 1))
        loss = correct = 0.0
        for first in range(begin, end, 500):
            images, labels = self.test.batch(torch.arange(first, min(first + 500, end)))
            logits = self.bare(images)
            loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
            correct += (logits.argmax(-1) == labels).sum().item()
        self.bare.train()
        sums = torch.tensor([loss, correct, sum(self.losses), len(self.losses)], dtype=torch.float64)
        self.losses = []
        dist.all_reduce(sums)
        loss, correct, train_loss, steps = sums.tolist()
        if not math.isfinite(loss):
            raise Divergence(f"the test loss after iteration {self.iteration} is {loss}: a lower learning rate may help")
        if self.rank == 0:
            report(
                "evaluation",
                iteration=self.iteration,
                epoch=self.iteration / self.per_epoch,
                train_time_s=self.train_time_s,
                train_loss=finite(train_loss / steps) if steps else None,
                test_loss=loss / len(self.test),
                test_accuracy=correct / len(self.test),
            )

    def summarise(self) -> None:
        elements = sum(parameter.numel() for parameter in self.bare.parameters())
        report(
            "summary",
            parameters=elements,
            pruning={"density": 1.0, "layers": []},
            synchroniser={},
            effective_density=self.payload_bytes / (4 * elements * self.iteration),
            vnmse=None,
            skipped_steps=0,
            parameters_hash=None,
        )


def work(path: str) -> int:
    global RANK
    description = json.loads(Path(path).read_text(encoding="utf-8"))
    RANK = description["rank"]
    report("started", pid=os.getpid(), libraries={"torch": torch.__version__, "numpy": sys.modules["numpy"].__version__})
    try:
        torch.set_num_threads(1)
        worker = Worker(description)
        # As in thinpipe-trainer, the network and the threads that communicate have priority over compute.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        worker.run()
    except Refusal as refusal:
        return fail("input", str(refusal))
    except Divergence as divergence:
        return fail("non_finite", str(divergence))
    except Exception as error:  # any error goes into the record
        return fail("internal", f"{type(error).__name__}: {error}")
    report("finished", peak_memory_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "work":
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")  # PyTorch's internal warnings would fill the log
    sys.exit(work(sys.argv[2]))
