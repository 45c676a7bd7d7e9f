# SPDX-License-Identifier: Apache-2.0
"""Tests how workers in Python read initial weights: both formats, told apart by their bytes.

Usage: load_tensors_test.py FOLDER     FOLDER has the package thinpipe
"""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from pathlib import Path

import torch

sys.path.insert(0, sys.argv.pop())
from thinpipe import _core  # noqa: E402

TENSORS = {
    "flags": torch.tensor([True]),  # one byte, so that the next tensor begins at an odd offset
    "layer.weight": torch.arange(6, dtype=torch.float32).reshape(2, 3),
    "half": torch.tensor([0.5, -2.0], dtype=torch.bfloat16),
    "count": torch.tensor(7, dtype=torch.int64),
    "nothing": torch.empty((0, 4)),
}
NAMES = {torch.bool: "BOOL", torch.float32: "F32", torch.bfloat16: "BF16", torch.int64: "I64"}


def as_safetensors(tensors: dict[str, torch.Tensor]) -> bytes:
    header, content = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        raw = tensor.reshape(-1).view(torch.uint8) if tensor.numel() and tensor.dtype != torch.bool else tensor.byte()
        begin, content = len(content), content + bytes(raw.reshape(-1).tolist())
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, len(content)]}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + content


class WeightsTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.file = Path(temporary.name) / "weights"  # without an extension: the bytes decide

    def assert_loads(self) -> None:
        loaded = _core.load_tensors(str(self.file))
        self.assertEqual(set(loaded), set(TENSORS))
        for name, tensor in TENSORS.items():
            self.assertEqual(loaded[name].dtype, tensor.dtype, name)
            self.assertTrue(torch.equal(loaded[name], tensor), name)

    def test_safetensors(self) -> None:
        self.file.write_bytes(as_safetensors(TENSORS))
        self.assert_loads()

    def test_what_torch_saves_in_both_its_formats(self) -> None:
        for is_zip in (True, False):
            torch.save(TENSORS, self.file, _use_new_zipfile_serialization=is_zip)
            self.assert_loads()

    def test_a_broken_safetensors_file_is_named(self) -> None:
        whole = as_safetensors(TENSORS)
        for broken in (whole[:-1], whole[:40], whole.replace(b"BF16", b"XF16"), whole.replace(b'"shape"', b'"shope"')):
            self.file.write_bytes(broken)
            with self.assertRaisesRegex(RuntimeError, f"{self.file}"):
                _core.load_tensors(str(self.file))


if __name__ == "__main__":
    unittest.main(verbosity=2)
