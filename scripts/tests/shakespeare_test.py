# SPDX-License-Identifier: Apache-2.0
import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import shakespeare  # noqa: E402

PLAY = """\
# A Play

## ACT I

_Enter ORSINO and CURIO_

**DUKE ORSINO**  
If music be the food of love,  
play on; [_Aside_] enough.

_Enter VALENTINE_

No more.

**CURIO**  
Will you go hunt, my lord?

### SCENE II. A street.

This is no speech.

**DUKE ORSINO**  
The hart.
"""


class ShakespeareTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.plays = self.folder / "plays"
        (self.plays / "comedies").mkdir(parents=True)

    def run_program(self) -> tuple[int, str]:
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = shakespeare.main([str(self.folder / "roles"), "--plays", str(self.plays)])
        return code, said.getvalue()

    def test_each_role_has_a_file_with_its_lines(self) -> None:
        (self.plays / "comedies" / "a-play.md").write_text(PLAY, encoding="utf-8")
        self.assertEqual(self.run_program(), (0, ""))
        written = {path.name: path.read_text() for path in (self.folder / "roles" / "a-play").iterdir()}
        self.assertEqual(
            written,
            {
                "duke-orsino.txt": "If music be the food of love,\nplay on;  enough.\nNo more.\nThe hart.\n",
                "curio.txt": "Will you go hunt, my lord?\n",
            },
        )
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["plays", "roles"])

    def test_without_plays_nothing_is_written(self) -> None:
        code, said = self.run_program()
        self.assertEqual(code, 2)
        self.assertIn("has no plays", said)
        self.assertFalse((self.folder / "roles").exists())

    def test_a_play_that_cannot_be_read_leaves_nothing_behind(self) -> None:
        (self.plays / "comedies" / "a-play.md").write_text(PLAY, encoding="utf-8")
        (self.plays / "comedies" / "b-play.md").mkdir()
        code, said = self.run_program()
        self.assertEqual(code, 1)
        self.assertIn("b-play.md", said)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["plays"])

    def test_an_existing_folder_is_left_alone(self) -> None:
        (self.folder / "roles").mkdir()
        self.assertEqual(self.run_program(), (0, ""))
        self.assertEqual(list((self.folder / "roles").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
