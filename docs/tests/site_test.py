# SPDX-License-Identifier: Apache-2.0
"""Tests the navigation of the site, and the hooks with which MkDocs reads the pages."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import hooks  # noqa: E402

DOCS = ROOT / "docs"


class NavigationTest(unittest.TestCase):
    def test_every_page_is_in_the_navigation_once(self) -> None:
        navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
        listed = re.findall(r"^ +- .*?([\w/-]+\.md)$", navigation, re.MULTILINE)
        lines = [line for line in navigation.splitlines() if line and not line.endswith(":")]
        self.assertEqual(len(listed), len(lines), "a line of the navigation has no page")
        own = sorted(each for each in listed if not each.startswith(hooks.PREFIX))
        self.assertEqual(own, sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")))

    def test_the_index_links_to_every_page(self) -> None:
        index = (DOCS / "index.md").read_text(encoding="utf-8")
        for page in DOCS.rglob("*.md"):
            if page.name != "index.md":
                self.assertIn(f"({page.relative_to(DOCS)})", index)


class HooksTest(unittest.TestCase):
    page = DOCS / "results" / "quickstart.md"

    def prose(self, text: str) -> str:
        return hooks.for_site(text, self.page)

    def test_links_within_docs_stay(self) -> None:
        for link in ("[a](methods.md#compute-cost)", "[a](../reference/report.md)", "[a](#below)", "[a](https://x.org/y)"):
            self.assertEqual(self.prose(link), link)

    def test_links_to_other_files_lead_to_the_site_s_copies(self) -> None:
        self.assertEqual(self.prose("[a](../../CONTRIBUTING.md#rules)"), "[a](../repository/CONTRIBUTING.md#rules)")
        picture = "results/reference/quickstart/speedup.png"
        self.assertEqual(self.prose(f"![a](../../{picture})"), f"![a](../repository/{picture})")
        self.assertIn(ROOT / picture, hooks.linked_outside([self.page]))

    def test_pages_outside_docs_link_to_pages_in_docs(self) -> None:
        text = hooks.for_site("[a](docs/index.md) [b](harness/README.md)", ROOT / "CONTRIBUTING.md")
        self.assertEqual(text, "[a](../index.md) [b](harness/README.md)")
        with tempfile.TemporaryDirectory(dir=ROOT / "docs") as folder:
            page = Path(folder) / "page.md"
            page.write_text("[a](../../CONTRIBUTING.md)", encoding="utf-8")
            self.assertIn(ROOT / "harness" / "README.md", hooks.linked_outside([page]))

    def test_links_to_nothing_are_left_for_mkdocs_to_report(self) -> None:
        self.assertEqual(self.prose("[a](../../nowhere.md)"), "[a](../../nowhere.md)")

    def test_marks_of_numbers_disappear(self) -> None:
        self.assertEqual(self.prose("takes <!-- = quickstart: max(runs) -->five seeds"), "takes five seeds")
        self.assertEqual(self.prose("<!-- table: begin -->"), "<!-- table: begin -->")

    def test_lists_after_text_begin_after_an_empty_line(self) -> None:
        self.assertEqual(self.prose("These:\n- a\n- b\n  more\n- c\n"), "These:\n\n- a\n- b\n  more\n- c\n")
        self.assertEqual(self.prose("1. a\n2. b\n"), "1. a\n2. b\n")

    def test_code_keeps_all_but_its_information(self) -> None:
        block = "```json base\n[a](../../CONTRIBUTING.md)\nb:\n- c\n```"
        self.assertEqual(self.prose(block), block.replace(" base", ""))


if __name__ == "__main__":
    unittest.main()
