# SPDX-License-Identifier: Apache-2.0
"""A worker written in PyTorch: DistributedDataParallel over its own Gloo, instead of thinpipe-trainer.

An experiment with {"trainer": "pytorch-ddp"} starts `thinpipe-trainer python pytorch-ddp.py work FILE` for each worker.
docs/reference/trainers.md describes what such a program reads and reports. Data, batches, model, initial weights,
learning rate and evaluation are thinpipe-trainer's, by the Python package thinpipe; the exchange of gradients is PyTorch's.
Supported synchronisers: dense, fp16 (fp16_compress_hook) and powersgd (powerSGD_hook); or any communication hook of the
user's.
"""
from __future__ import annotations

import fcntl
import json
import math
import os
import platform
import resource
import socket
import struct
import sys
import threading
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

RANK = 0
# Standard output is reserved for events: what the user's code prints goes to the log.
EVENTS, sys.stdout = sys.stdout, sys.stderr


def report(event: str, /, **more) -> None:
    print(json.dumps({**more, "event": event, "rank": RANK}, allow_nan=False), file=EVENTS, flush=True)


def finite(number: float) -> float | None:
    """Replaces NaN and infinity, which JSON does not have, by null, as the protocol requires."""
    return number if math.isfinite(number) else None


class TimesReport:
    """Reports the times of this worker's iterations, those of half a second together."""

    def __init__(self) -> None:
        self.unsent: list[dict] = []

    def add(self, **times) -> None:
        self.unsent.append(times)
        if times["monotonic_s"] - self.unsent[0]["monotonic_s"] >= 0.5:
            self.flush()

    def flush(self) -> None:
        if self.unsent:
            report("worker_times", iterations=self.unsent)
        self.unsent = []


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
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
    from torch.distributed.algorithms.ddp_comm_hooks.powerSGD_hook import PowerSGDState, powerSGD_hook

    from thinpipe import _core, hooks, reporting, scripts, training
except ImportError as error:
    REMEDY = ("build the target thinpipe-python with python3-torch, python3-dev and pybind11-dev installed, or set "
              "THINPIPE_PYTHON to a Python in which `pip install .` has installed thinpipe")
    sys.exit(fail("input", f"pytorch-ddp needs PyTorch and thinpipe's Python package: {error}; {REMEDY}"))


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


def refuse_what_is_not_done(description: dict) -> None:
    """Raises Refusal for unsupported options, so that the program trains exactly what the record states."""
    config = description["config"]
    if description["slowdowns"] or description["checkpoint"] is not None:
        raise Refusal("pytorch-ddp does not support slowdowns (worker_events) or checkpoints (on_worker_failure)")
    if config["collective"]["name"] not in ("auto", "gloo"):
        raise Refusal(f"/collective/name is {config['collective']['name']}, but pytorch-ddp supports only Gloo")
    done = {
        "/pruning/ratio": 0,
        "/training/check_replicas_every_iterations": 0,
        "/training/running_statistics": "rank_0",
        "/compute/device": "cpu",
    }
    for pointer, value in done.items():
        found = config
        for key in pointer.strip("/").split("/"):
            found = found[key]
        if found != value:
            raise Refusal(f"{pointer} is {json.dumps(found)}, but pytorch-ddp supports only {json.dumps(value)}")


class Method:
    """What replaces the all-reduce of DistributedDataParallel, and the bytes that it hands to collectives."""

    def __init__(self, model: hooks.Replica) -> None:
        self.gradient_bytes = 4 * sum(weight.numel() for weight in model.parameters() if weight.requires_grad)

    def payload_bytes(self) -> int | None:
        """Returns the payload bytes of the last step; None if they are unknown."""
        return self.gradient_bytes

    def sent_bytes(self, payload_bytes: int, workers: int) -> float | None:
        """Returns the bytes that a worker sends for a payload in a ring all-reduce; None if they are unknown."""
        return 2 * payload_bytes * (workers - 1) / workers

    def reported(self) -> dict:
        """Returns further members of the last step's report."""
        return {}

    def applied(self) -> bool:
        """Returns whether the optimiser could use the last step's gradients."""
        return True


class Fp16(Method):
    def __init__(self, options: dict, model: hooks.Replica) -> None:
        super().__init__(model)
        if options["variant"] != "pytorch":
            raise Refusal('fp16 needs {"variant": "pytorch"}, the variant that the hook implements')
        model.register_comm_hook(None, fp16_compress_hook)

    def payload_bytes(self) -> int:
        return self.gradient_bytes // 2


class PowerSgd(Method):
    def __init__(self, options: dict, model: hooks.Replica, first_bucket_bytes: int) -> None:
        super().__init__(model)
        if options["start_step"] < 2:
            raise Refusal("powersgd needs a start_step of at least 2: the hook's first two steps are dense")
        if self.gradient_bytes > first_bucket_bytes:
            # The hook starts collectives from callbacks, which Gloo runs in a different order on each worker: with
            # several buckets the workers would wait for each other forever.
            raise Refusal(
                f"PyTorch's powerSGD_hook over Gloo needs the gradient in one bucket; set buckets.first_size to at "
                f"least {self.gradient_bytes} bytes"
            )
        self.sent_before = 0
        self.state = PowerSGDState(
            process_group=None,
            matrix_approximation_rank=options["rank"],
            start_powerSGD_iter=options["start_step"],
            min_compression_rate=options["min_compression"],
        )
        model.register_comm_hook(self.state, powerSGD_hook)

    def payload_bytes(self) -> int:
        """Returns the bytes as the hook counts them."""
        sent = self.state.compression_stats()[2]
        of_step, self.sent_before = sent - self.sent_before, sent
        return 4 * of_step if of_step > 0 else self.gradient_bytes


class UsersHook(Method):
    """A hook of the user's. Only the hook itself knows its bytes: thinpipe.report(payload_bytes=...) tells them."""

    def __init__(self, hook: dict, model: hooks.Replica, optimiser: torch.optim.Optimizer) -> None:
        super().__init__(model)
        self.bytes_of_step: int | None = None  # unknown until the hook reports some
        self.others: dict = {}
        self.skips_step = False
        hooks.register(hook, model, optimiser)
        reporting.listener = self.take

    def take(self, message: dict) -> None:
        self.skips_step = self.skips_step or message.get("applied") is False  # from thinpipe.ddp_hook
        if "payload_bytes" in message:
            self.bytes_of_step = (self.bytes_of_step or 0) + message["payload_bytes"]
        known = (*reporting.KNOWN, "monotonic_s")
        self.others.update((key, value) for key, value in message.items() if key not in known)

    def payload_bytes(self) -> int | None:
        of_step, self.bytes_of_step = self.bytes_of_step, None
        return of_step

    def sent_bytes(self, payload_bytes: int | None, workers: int) -> None:
        return None

    def reported(self) -> dict:
        of_step, self.others = self.others, {}
        return of_step

    def applied(self) -> bool:
        skipped, self.skips_step = self.skips_step, False
        return not skipped


def method_of(
    description: dict, model: hooks.Replica, optimiser: torch.optim.Optimizer, first_bucket_bytes: int
) -> Method:
    options = description["config"]["synchroniser"]
    name = options["name"]
    if description.get("hook") is not None:
        return UsersHook(description["hook"], model, optimiser)
    if name == "dense":
        return Method(model)
    if name == "fp16":
        return Fp16(options, model)
    if name == "powersgd":
        return PowerSgd(options, model, first_bucket_bytes)
    raise Refusal(f"pytorch-ddp does not support the synchroniser {name}, only dense, fp16 and powersgd")


def optimiser_of(options: dict, parameters: Iterable[torch.nn.Parameter]) -> torch.optim.Optimizer:
    rate, weight_decay = options["learning_rate"], options["weight_decay"]
    if options["name"] == "sgd":
        return torch.optim.SGD(
            parameters, rate, options["momentum"], weight_decay=weight_decay, nesterov=options["nesterov"]
        )
    kinds = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if options["name"] not in kinds:
        raise Refusal(f"pytorch-ddp does not support the optimiser {options['name']}, only sgd, adam and adamw")
    betas = options["beta1"], options["beta2"]
    return kinds[options["name"]](parameters, rate, betas, options["epsilon"], weight_decay)


class Worker:
    def __init__(self, description: dict) -> None:
        config = description["config"]
        self.rank, self.workers = description["rank"], description["world_size"]
        refuse_what_is_not_done(description)
        self.evaluate_every = config["training"]["evaluate_every_iterations"]
        self.training = _core.Training(json.dumps(config), self.rank, description["initial_weights"])
        self.bare = training.module_of(self.training)
        os.environ["GLOO_SOCKET_IFNAME"] = interface_of(description["address"])
        dist.init_process_group(
            "gloo", f"file://{description['rendezvous_directory']}/pytorch", rank=self.rank, world_size=self.workers
        )
        self.report_data(config["dataset"]["name"])
        self.model = hooks.replica_of(self.bare, self.training.first_bucket_bytes, self.training.bucket_bytes)
        self.optimiser = optimiser_of(config["optimiser"], self.bare.parameters())
        self.clip_norm = config["training"]["clip_norm"]
        self.method = method_of(description, self.model, self.optimiser, self.training.first_bucket_bytes)
        self.iteration, self.train_time_s, self.losses, self.payload_bytes = 0, 0.0, [], 0
        self.skipped_steps = 0
        self.begin_file = description.get("begin_file")
        self.times_report = TimesReport() if description.get("report_worker_times", False) else None
        self.reports_starts = self.rank == 0 and description.get("report_iteration_starts", False)

    def report_data(self, name: str) -> None:
        """Tells the controller which data are trained on, after comparing those of all workers if each has called a
        function of the user's to get them."""
        from_function = ".py:" in name
        own_hash = self.training.data_hash() if self.rank == 0 or from_function else None
        if from_function:
            hashes = [None] * self.workers
            dist.all_gather_object(hashes, own_hash)
            if len(set(hashes)) > 1:
                raise Refusal(
                    f"{name} does not return the same data to every worker: the function must seed whatever it draws"
                )
        if self.rank == 0:
            report("dataset", hash=own_hash)

    def run(self) -> None:
        self.evaluate()
        while self.begin_file and not Path(self.begin_file).exists():
            time.sleep(0.001)
        while self.iteration < self.training.iterations:
            self.step()
            if self.iteration % self.evaluate_every == 0 or self.iteration == self.training.iterations:
                self.evaluate()
        if self.times_report is not None:
            self.times_report.flush()
        if self.rank == 0:
            self.summarise()
        dist.barrier()
        # Without this, the end of the interpreter may find threads of PyTorch 2's Gloo that still run, and abort.
        dist.destroy_process_group()

    def epoch(self) -> float:
        return self.iteration / self.training.iterations_per_epoch

    def step(self) -> None:
        if self.reports_starts:
            report(
                "iteration_started",
                iteration=self.iteration + 1,
                train_time_s=self.train_time_s,
                monotonic_s=time.monotonic(),
            )
        began, began_working = time.monotonic(), time.thread_time()
        inputs, labels = self.training.begin_iteration(self.iteration)
        load_s = time.monotonic() - began
        for group in self.optimiser.param_groups:
            group["lr"] = self.training.learning_rate(self.iteration)
        self.optimiser.zero_grad()
        loss = self.training.loss(self.model(inputs), labels)
        self.model.backward(loss)
        if self.clip_norm is not None:
            torch.nn.utils.clip_grad_norm_(self.bare.parameters(), self.clip_norm)
        self.optimiser.step()
        ended = time.monotonic()
        iteration_time_s = ended - began
        self.iteration += 1
        self.train_time_s += iteration_time_s
        self.losses.append(loss.item())
        payload_bytes = self.method.payload_bytes()
        self.payload_bytes += payload_bytes or 0
        applied = self.method.applied()
        self.skipped_steps += not applied
        if self.times_report is not None:
            self.times_report.add(
                iteration=self.iteration,
                monotonic_s=ended,
                iteration_time_s=iteration_time_s,
                compute_s=None,
                exposed_exchange_s=None,
            )
        if self.rank > 0:
            return
        # Known only inside DistributedDataParallel, which overlaps the exchange with the backward pass.
        unknown = dict.fromkeys(
            ("compute_s", "encode_s", "exchange_s", "decode_s", "exposed_exchange_s", "first_bucket_s")
        )
        known = dict(
            iteration=self.iteration,
            epoch=self.epoch(),
            train_time_s=self.train_time_s,
            train_loss=finite(self.losses[-1]),
            applied=applied,
            iteration_time_s=iteration_time_s,
            load_s=load_s,
            cpu_s=time.thread_time() - began_working,
            payload_bytes=payload_bytes,
            sent_bytes=self.method.sent_bytes(payload_bytes, self.workers),
        )
        report("iteration", **{**self.method.reported(), **unknown, **known})

    @torch.no_grad()
    def evaluate(self) -> None:
        """Evaluates a part of the test set on each worker, with rank 0's statistics on all workers."""
        for buffer in self.bare.buffers():
            dist.broadcast(buffer, 0)
        loss, correct = self.training.evaluate_part()
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
                epoch=self.epoch(),
                train_time_s=self.train_time_s,
                train_loss=finite(train_loss / steps) if steps else None,
                test_loss=loss / self.training.test_labels,
                test_accuracy=correct / self.training.test_labels,
            )

    def summarise(self) -> None:
        elements = sum(parameter.numel() for parameter in self.bare.parameters())
        report(
            "summary",
            parameters=elements,
            pruning={"density": 1.0, "layers": []},
            synchroniser={},
            effective_density=self.payload_bytes / (4 * elements * self.iteration) if self.payload_bytes else None,
            vnmse=None,
            skipped_steps=self.skipped_steps,
            parameters_hash=self.training.parameters_hash,
        )


def work(path: str) -> int:
    global RANK
    description = json.loads(Path(path).read_text(encoding="utf-8"))
    RANK = description["rank"]
    report("started", pid=os.getpid(), libraries={"torch": torch.__version__, "python": platform.python_version()})
    try:
        _core.prepare_process(description.get("log_level", "info"))
        torch.set_num_threads(1)
        worker = Worker(description)
        # As in thinpipe-trainer, the network and the threads that communicate have priority over compute.
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 19)
        worker.run()
    except (Refusal, scripts.InvalidScript, _core.InputError) as refusal:
        return fail("input", str(refusal))
    except Divergence as divergence:
        return fail("non_finite", str(divergence))
    except _core.CollectiveError as broken:
        return fail("collective", str(broken))
    except Exception as error:  # any error goes into the record
        message, trace = scripts.explain(error)
        print(trace, file=sys.stderr)
        return fail("internal", message)
    report("finished", peak_memory_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] != "work":
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")  # PyTorch's internal warnings would fill the log
    sys.exit(work(sys.argv[2]))
