# SPDX-License-Identifier: Apache-2.0
"""Reads the files of `thinpipe tokenize` with NumPy, as nanoGPT's train.py does."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import numpy as np
except ImportError as error:
    print(f"SKIPPED: {error}; install python3-numpy")
    sys.exit(77)

TEXT = "Ich weiß nicht, was soll es bedeuten,\n\tdaß ich so traurig bin; 😀 — ein  Märchen\n" * 40


class Tokenize(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "text").write_text(TEXT, encoding="utf-8")

    def tokenize(self, *arguments: str) -> tuple[np.ndarray, np.ndarray, dict]:
        out = self.folder / "out"
        command = [os.environ["THINPIPE_PROGRAM"], "tokenize", str(self.folder / "text"), "--out", str(out), *arguments]
        subprocess.run(command, check=True, capture_output=True)
        meta = json.loads((out / "meta.json").read_text(encoding="utf-8"))
        parts = (np.memmap(out / name, dtype=np.uint16, mode="r") for name in ("train.bin", "val.bin"))
        return (*parts, meta)

    def test_bytes(self) -> None:
        train, val, meta = self.tokenize("--tokens", "bytes")
        self.assertEqual(bytes([*train, *val]).decode(), TEXT)
        self.assertEqual(meta["vocabulary"], 256)

    def test_characters(self) -> None:
        train, val, meta = self.tokenize("--tokens", "characters", "--test-share", "0.3")
        self.assertEqual("".join(meta["characters"][token] for token in [*train, *val]), TEXT)
        self.assertEqual(meta["characters"], "".join(sorted(set(TEXT))))
        self.assertEqual(meta["vocabulary"], len(set(TEXT)))
        test_bytes = len("".join(meta["characters"][token] for token in val).encode())
        self.assertAlmostEqual(test_bytes / len(TEXT.encode()), 0.3, delta=0.01)
        self.assertAlmostEqual(meta["bytes_per_token"], test_bytes / len(val))

    def test_words(self) -> None:
        train, val, meta = self.tokenize("--tokens", "words", "--vocabulary", "300")
        words = " ".join(meta["words"][token] for token in [*train, *val])
        self.assertEqual(words.split("<eos>")[1].split(), "daß ich so traurig bin ; 😀 — ein märchen".split())
        self.assertNotIn("bytes_per_token", meta)


if __name__ == "__main__":
    unittest.main()
