# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

import profiles_table
from shared.markdown_table import UNKNOWN


def measured(compute_ms: float, **more: Any) -> dict[str, Any]:
    return {
        "origin": "measured",
        "device": {"name": "A GPU", "libraries": {"libtorch": "2.11.0"}},
        "configuration": {"training": {"batch_size_per_worker": 32}},
        "compute_s": 1e-3 * compute_ms,
        "finish_s": 1e-3,
        **more,
    }


class ProfilesTableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def call(self, **profiles: Any) -> tuple[int, str, str]:
        for name, profile in profiles.items():
            (self.folder / f"{name.replace('_', '-')}.json").write_text(json.dumps(profile), encoding="utf-8")
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = profiles_table.main([str(self.folder)])
        return code, out.getvalue(), err.getvalue()

    def test_an_estimate_stands_beside_what_was_measured(self) -> None:
        estimated = {"origin": "estimated", "device": {"name": "A sheet"}, "compute_s": 3.5e-3, "finish_s": 0.25e-3}
        code, text, err = self.call(
            small_float32=measured(7), small_bfloat16=measured(4), small_estimated=estimated, large_float32=measured(19)
        )
        self.assertEqual((code, err), (0, ""))
        computing, updating, _ = text.split("\n\n")
        self.assertIn("| small | 7.00 | 4.00 | 3.50 | 0.500 |", computing)
        self.assertIn(f"| large | 19.0 | {UNKNOWN} | {UNKNOWN} | {UNKNOWN} |", computing)
        self.assertLess(computing.index("| small"), computing.index("| large"))
        self.assertIn("| small | 1.00 | 1.00 | 0.250 | 0.250 |", updating)
        self.assertIn("measured on A GPU with LibTorch 2.11.0 · estimated for A sheet", text)

    def test_methods_have_rows_of_their_own(self) -> None:
        code, text, err = self.call(small_float32_topk=measured(7, encode_s=0.012, decode_s=0.003))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("| topk, small | 12.0 | 3.00 |", text)

    def test_other_files_are_refused_by_name(self) -> None:
        code, _, err = self.call(small_float32={"status": "completed"})
        self.assertEqual(code, 2)
        self.assertIn("small-float32.json: is not a compute profile", err)

    def test_a_folder_without_profiles_is_refused(self) -> None:
        code, _, err = self.call()
        self.assertEqual(code, 2)
        self.assertIn("has no compute profiles", err)


if __name__ == "__main__":
    unittest.main()
