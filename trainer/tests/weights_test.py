# SPDX-License-Identifier: Apache-2.0
"""Tests files of weights in both directions: thinpipe-trainer reads PyTorch's files, and PyTorch reads its files.

Usage: weights_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-torch")
    sys.exit(77)

# Types of safetensors; numpy has no bfloat16, whose bits are compared instead.
DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.int16, "I64": np.int64, "I32": np.int32,
    "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_,
}  # fmt: skip
NAMES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64",
    torch.int32: "I32", torch.int16: "I16", torch.int8: "I8", torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip


def bits(tensor):
    tensor = tensor.detach().contiguous()
    return (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()


def read_safetensors(path):
    """Returns {name: (dtype, array)}, by the format's documentation."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header, rest = json.loads(data[8 : 8 + length]), data[8 + length :]
    header.pop("__metadata__", None)
    out, reached = {}, 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        begin, end = entry["data_offsets"]
        assert begin == reached, f"{name} begins at {begin}, expected {reached}"
        array = np.frombuffer(rest[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
        out[name], reached = (entry["dtype"], array), end
    assert reached == len(rest)
    return out


def write_safetensors(path, tensors):
    header, elements = {"__metadata__": {"from": "weights_test"}}, b""
    for name, tensor in tensors.items():
        data = bits(tensor).tobytes()
        header[name] = {
            "dtype": NAMES[tensor.dtype], "shape": list(tensor.shape),
            "data_offsets": [len(elements), len(elements) + len(data)],
        }  # fmt: skip
        elements += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + elements)


def make_network():
    return nn.Sequential(OrderedDict(conv=nn.Conv2d(3, 4, 3), norm=nn.BatchNorm2d(4), fc=nn.Linear(4, 5)))


def unusual_tensors():
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    tensors = {
        "base": base, "transposed": base.t(), "column": base[:, 2], "window": base[1:3, 2:5], "shared": base[1],
        "expanded": torch.tensor([1.0, 2.0]).expand(3, 2), "scalar": torch.tensor(7.5), "empty": torch.empty(0, 3),
        "parameter": nn.Parameter(torch.ones(2, 2)), "frozen": nn.Parameter(torch.ones(2), requires_grad=False),
        "strange.näme": torch.ones(1),
    }  # fmt: skip
    for dtype, name in NAMES.items():
        tensors[name] = torch.tensor([[0, 1, 1], [1, 0, 1]]).to(dtype) * (1 if dtype == torch.bool else 3)
    return tensors


def checkpoints():
    """Returns {name: (the saved object, the options of torch.save, the expected tensors)}."""
    torch.manual_seed(0)
    network = make_network()
    optimiser = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    network.fc(torch.ones(1, 4)).sum().backward()
    optimiser.step()
    state = network.state_dict()
    assert isinstance(state, OrderedDict) and hasattr(state, "_metadata")
    rest = {"epoch": 3, "loss": 0.25, "best": np.float64(0.9), "optimizer": optimiser.state_dict(),
            "args": argparse.Namespace(lr=0.1)}  # fmt: skip
    parallel = nn.DataParallel(network).state_dict()
    compiled = {f"_orig_mod.{name}": tensor for name, tensor in state.items()}  # torch.compile(network).state_dict()
    legacy = {"_use_new_zipfile_serialization": False}
    return {
        "state_dict": (state, {}, state),
        "dict": (dict(state), {}, state),
        "unusual": (unusual_tensors(), {}, unusual_tensors()),
        "protocol 4": (state, {"pickle_protocol": 4}, state),
        "protocol 5": (unusual_tensors(), {"pickle_protocol": 5}, unusual_tensors()),
        "half": (make_network().half().state_dict(), {}, None),
        "wrapped as state_dict": ({"state_dict": state, **rest}, {}, state),
        "wrapped as model": ({**rest, "model": dict(state)}, {}, state),
        "wrapped as model_state_dict": ({**rest, "model_state_dict": state}, {}, state),
        "parallel": (parallel, {}, state),
        "wrapped and parallel": ({"state_dict": parallel}, {}, state),
        "wrapped as net": ({**rest, "acc": 93.1, "best": torch.tensor(0.9), "net": state}, {}, state),
        "wrapped twice": ({"checkpoint": {"weights": state}, **rest}, {}, state),
        "compiled": (compiled, {}, state),
        "compiled and parallel": ({f"module.{name}": tensor for name, tensor in compiled.items()}, {}, state),
        "legacy": (state, legacy, state),
        **{f"legacy protocol {i}": (state, {**legacy, "pickle_protocol": i}, state) for i in range(6)},
        **{f"protocol {i}": (state, {"pickle_protocol": i}, state) for i in (0, 1, 3)},
        "legacy unusual": (unusual_tensors(), legacy, unusual_tensors()),
        "legacy wrapped": ({**rest, "state_dict": state}, legacy, state),
    }


def refused():
    """Returns {name: (a function that writes the file, a part of the expected message)}."""
    network = make_network()
    return {
        "whole module": (lambda path: torch.save(network, path), "contains a whole Python object"),
        "list": (lambda path: torch.save([torch.ones(1)], path), "does not contain a dict of tensors"),
        "TorchScript": (lambda path: torch.jit.script(nn.Linear(1, 1)).save(str(path)), "is a TorchScript program"),
        "two dicts": (
            lambda path: torch.save({"model": network.state_dict(), "net": network.state_dict()}, path),
            "contains several dicts of tensors",
        ),
        "averages": (
            lambda path: torch.save({"model": network.state_dict(), "model_ema": make_network().state_dict()}, path),
            '"model" (9 tensors), "model_ema" (9 tensors)',
        ),
        "no dict": (lambda path: torch.save({"net": network, "acc": 0.5}, path), '"acc" (a number)'),
        "expanded": (lambda path: torch.save({"w": torch.zeros(1).expand(10**6, 10**6)}, path), '"w" of shape'),
        "a number": (lambda path: torch.save({"a": torch.ones(1), "b": 3}, path), '"b" is not a tensor'),
        "complex": (lambda path: torch.save({"a": torch.ones(1) * 1j}, path), "torch.ComplexFloatStorage"),
        "nothing": (lambda path: torch.save({}, path), "contains no tensors"),
    }  # fmt: skip


class Trainer:
    def __init__(self, program):
        self.program = program

    def convert(self, source, target):
        done = subprocess.run([self.program, "convert", source, target], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"convert {source.name}: {done.stderr}"

    def refusal(self, source, target):
        done = subprocess.run([self.program, "convert", source, target], capture_output=True, text=True, timeout=60)
        assert done.returncode in (1, 2), f"convert {source.name}: exit status {done.returncode}"
        assert not target.exists()
        return done.stderr


def expect_equal(case, tensors, expected):
    assert list(sorted(tensors)) == list(sorted(expected)), f"{case}: {sorted(tensors)}"
    for name, tensor in expected.items():
        other = tensors[name]
        assert other.dtype == tensor.dtype and other.shape == tensor.shape, f"{case}: {name} is {other.dtype}"
        assert torch.equal(other, tensor), f"{case}: {name} has other values"


def in_parallel(function, arguments):
    """Runs in parallel, because starting the program takes most of the time: LibTorch is large."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda argument: function(*argument), arguments))


def test_reads_what_pytorch_writes(trainer, folder):
    cases = checkpoints()
    for case, (saved, options, _) in cases.items():
        torch.save(saved, folder / f"{case}.pt", **options)
    in_parallel(trainer.convert, [(folder / f"{case}.pt", folder / f"{case}.safetensors") for case in cases])
    for case, (saved, _, expected) in cases.items():
        expected = saved if expected is None else expected
        read = read_safetensors(folder / f"{case}.safetensors")
        assert sorted(read) == sorted(expected), f"{case}: {sorted(read)}"
        for name, tensor in expected.items():
            dtype, array = read[name]
            assert dtype == NAMES[tensor.dtype], f"{case}: {name} is {dtype}"
            assert array.shape == tuple(tensor.shape), f"{case}: {name} is of shape {array.shape}"
            assert np.array_equal(array, bits(tensor)), f"{case}: {name} has other values"
    return len(cases)


def test_pytorch_reads_what_is_written(trainer, folder):
    tensors = unusual_tensors()
    write_safetensors(folder / "ours.safetensors", tensors)
    trainer.convert(folder / "ours.safetensors", folder / "ours.pt")
    # PyTorch 2.6 and later read with weights_only by default.
    for options in ({}, {"weights_only": True}, {"weights_only": False}):
        expect_equal(f"ours.pt {options}", torch.load(folder / "ours.pt", **options), tensors)
    trainer.convert(folder / "ours.pt", folder / "again.safetensors")
    for name, (dtype, array) in read_safetensors(folder / "again.safetensors").items():
        assert dtype == NAMES[tensors[name].dtype] and np.array_equal(array, bits(tensors[name])), name
    network = make_network()
    torch.save(network.state_dict(), folder / "network.pt")
    trainer.convert(folder / "network.pt", folder / "copy.pt")
    make_network().load_state_dict(torch.load(folder / "copy.pt"))


def test_safetensors_package_agrees(trainer, folder):
    try:
        from safetensors.torch import load_file, save_file
    except ImportError:
        return "the package safetensors is not installed: compared only by this test's own code"
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in unusual_tensors().items()}
    save_file(tensors, folder / "theirs.safetensors")
    trainer.convert(folder / "theirs.safetensors", folder / "theirs.pt")
    expect_equal("their safetensors", torch.load(folder / "theirs.pt"), tensors)
    trainer.convert(folder / "theirs.pt", folder / "back.safetensors")
    expect_equal("our safetensors", load_file(folder / "back.safetensors"), tensors)
    return "the package safetensors agrees"


def test_refuses_what_is_no_dict_of_tensors(trainer, folder):
    cases = refused()
    files = [folder / f"{case}.refused.pt" for case in cases]
    for file, (write, _) in zip(files, cases.values()):
        write(file)
    refusals = in_parallel(trainer.refusal, [(file, file.with_suffix(".safetensors")) for file in files])
    for file, refusal, (_, message) in zip(files, refusals, cases.values()):
        assert message in refusal and file.name in refusal, f"{file.name}: {refusal}"
    good = folder / "state_dict.pt"
    assert "must end in .safetensors" in trainer.refusal(good, folder / "weights.xyz")
    cut = folder / "cut.pt"
    cut.write_bytes(good.read_bytes()[:-100])
    assert "cut.pt is damaged" in trainer.refusal(cut, folder / "refused.safetensors")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    trainer = Trainer(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = test_reads_what_pytorch_writes(trainer, folder)
        test_pytorch_reads_what_is_written(trainer, folder)
        package = test_safetensors_package_agrees(trainer, folder)
        test_refuses_what_is_no_dict_of_tensors(trainer, folder)
    print(f"PyTorch {torch.__version__}: {cases} kinds of files read, it reads our files correctly; {package}")


if __name__ == "__main__":
    main()
