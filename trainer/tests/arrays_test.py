# SPDX-License-Identifier: Apache-2.0
"""Compares the arrays that thinpipe-trainer reads with those that NumPy writes.

Usage: arrays_test.py PATH/thinpipe-trainer   (exit status 77: skipped, the reason on standard output)
"""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-numpy")
    sys.exit(77)

NAMES = {"u1": "U8", "i1": "I8", "i2": "I16", "i4": "I32", "i8": "I64", "f2": "F16", "f4": "F32", "f8": "F64"}


def write_safetensors(path, arrays):
    """Writes by the format's documentation, widest types first, so that elements are aligned."""
    header, elements = {}, b""
    for name, array in sorted(arrays.items(), key=lambda item: -item[1].itemsize):
        data = array.tobytes()
        header[name] = {
            "dtype": NAMES[array.dtype.str[1:]],
            "shape": list(array.shape),
            "data_offsets": [len(elements), len(elements) + len(data)],
        }
        elements += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + elements)


class Checker:
    """Asks one thinpipe-trainer about configurations."""

    def __init__(self, trainer):
        self.process = subprocess.Popen(
            [trainer, "check", "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def check(self, dataset, model="mlp", **more):
        config = {
            "workers": 1,
            "model": {"name": model, **({"hidden": [2]} if model == "mlp" else {"width": 8, "depth": 1, "heads": 1})},
            "training": {"batch_size_per_worker": 1},
            "dataset": dataset,
            **more,
        }
        self.process.stdin.write(json.dumps(config) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def content(self, path, model="mlp", **options):
        """Returns the hash of the data set's content."""
        answer = self.check({"name": "tensors", "path": str(path), **options}, model)
        assert answer["ok"], answer
        return answer["content"]["/dataset/path"]

    def refusal(self, path, **options):
        answer = self.check({"name": "tensors", "path": str(path), **options})
        assert not answer["ok"], answer
        return answer["message"]


def with_other_arrays(inputs, seed=3):
    """Returns the four arrays of a data set with these training inputs."""
    labels = np.random.default_rng(seed).integers(0, 3, len(inputs))
    return {"train_inputs": inputs, "train_labels": labels, "test_inputs": inputs[:2], "test_labels": labels[:2]}


def write_all(folder, arrays):
    """Writes the arrays in every format; returns the paths."""
    (folder / "npy").mkdir(parents=True)
    for name, array in arrays.items():
        np.save(folder / "npy" / f"{name}.npy", array)
    np.savez(folder / "stored.npz", **arrays)
    np.savez_compressed(folder / "deflated.npz", **arrays)
    write_safetensors(folder / "x.safetensors", arrays)
    return [folder / "npy", folder / "stored.npz", folder / "deflated.npz", folder / "x.safetensors"]


def test_every_type_in_every_format(checker, folder):
    random = np.random.default_rng(1)
    hashes = set()
    for kind in NAMES:
        values = random.integers(0, 100, (5, 6)).astype(f"<{kind}")
        model, layout = ("mlp", "features") if kind in ("u1", "f2", "f4", "f8") else ("gpt", "tokens")
        arrays = with_other_arrays(values)
        if layout == "tokens":
            arrays["train_labels"], arrays["test_labels"] = values, values[:2]
        paths = write_all(folder / kind, arrays)
        found = {checker.content(path, model, layout=layout) for path in paths}
        assert len(found) == 1, f"{kind}: {found}"
        hashes |= found
    assert len(hashes) == len(NAMES), "the same numbers in another type are other data"


def test_images_are_those_of_fashion_mnist(checker, folder):
    """NumPy reads Fashion-MNIST's files and writes its own: the trainer must find the same content in both."""
    source = Path("/usr/share/datasets/fashion-mnist")
    if not source.exists():
        print("skipped: no Fashion-MNIST")
        return
    import gzip

    def idx(name, count, offset):
        with gzip.open(source / f"{name}-ubyte.gz") as file:
            return np.frombuffer(file.read(offset + count), np.uint8, offset=offset)

    arrays = {}
    for part, name, count in (("train", "train", 300), ("test", "t10k", 100)):
        arrays[f"{part}_inputs"] = idx(f"{name}-images-idx3", count * 784, 16).reshape(count, 28, 28)
        arrays[f"{part}_labels"] = idx(f"{name}-labels-idx1", count, 8)
    np.savez_compressed(folder / "mine.npz", **arrays)
    answer = checker.check({"name": "fashion_mnist", "train_examples": 300, "test_examples": 100})
    assert answer["ok"], answer
    assert checker.content(folder / "mine.npz", layout="nhw") == answer["content"]["/dataset/directory"]


def test_versions_of_the_format(checker, folder):
    arrays = with_other_arrays(np.random.default_rng(2).standard_normal((4, 3)).astype("<f4"))
    expected = checker.content(write_all(folder / "first", arrays)[0])
    for version in ((1, 0), (2, 0), (3, 0)):
        other = folder / f"version-{version[0]}"
        other.mkdir()
        for name, array in arrays.items():
            with (other / f"{name}.npy").open("wb") as file:
                np.lib.format.write_array(file, array, version=version)
        assert checker.content(other) == expected, version


def test_refusals(checker, folder):
    def refusal(inputs, name):
        np.savez(folder / f"{name}.npz", **with_other_arrays(inputs))
        return checker.refusal(folder / f"{name}.npz")

    floats = np.ones((4, 3), "<f4")
    assert "is in Fortran order" in refusal(np.asfortranarray(floats), "fortran")
    assert "big-endian elements (>f4); save array.astype('<f4')" in refusal(floats.astype(">f4"), "big")
    assert "elements of type |O" in refusal(np.array([["a"]] * 4, dtype=object), "objects")
    assert "elements of type <c8" in refusal(floats.astype("<c8"), "complex")
    assert "has elements of several fields" in refusal(np.zeros(4, [("a", "<f4"), ("b", "<i4")]), "fields")
    floats[2, 1] = np.inf
    assert "train_inputs has a number that is NaN or infinite in example 2" in refusal(floats, "infinite")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trainer")
    checker = Checker(parser.parse_args().trainer)
    try:
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            with tempfile.TemporaryDirectory() as folder:
                test(checker, Path(folder))
            print(f"passed: {name}")
    finally:
        checker.process.stdin.close()
        checker.process.wait()


if __name__ == "__main__":
    main()
