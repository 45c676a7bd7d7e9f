# SPDX-License-Identifier: Apache-2.0
"""A headless browser, and the elements of the page that it ends with."""
from __future__ import annotations

import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Iterator

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
VOID = {"meta", "input", "br", "hr", "img", "link"}


class Element:
    def __init__(self, tag: str, attributes: dict[str, str], parent: Element | None) -> None:
        self.tag, self.attributes, self.parent = tag, attributes, parent
        self.children: list[Element | str] = []

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Returns the elements below with this tag and these attributes; class_="a" requires the class a."""
        return [element for element in self.walk() if element.fits(tag, attributes)]

    def one(self, tag: str, **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} elements are <{tag}> with {attributes}")
        return found[0]

    def fits(self, tag: str, attributes: dict[str, str]) -> bool:
        def has(name: str, value: str) -> bool:
            if name == "class_":
                return value in self.attributes.get("class", "").split()
            return self.attributes.get(name.replace("_", "-")) == value

        return self.tag == tag and all(has(name, value) for name, value in attributes.items())

    def walk(self) -> Iterator[Element]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child.walk()

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def hidden(self) -> bool:
        return "hidden" in self.attributes or (self.parent is not None and self.parent.hidden)


class Document(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.root = self.here = Element("", {}, None)
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, self.here)
        self.here.children.append(element)
        if tag not in VOID:
            self.here = element

    def handle_endtag(self, tag: str) -> None:
        while self.here.parent is not None and self.here.tag != tag:
            self.here = self.here.parent
        self.here = self.here.parent or self.root

    def handle_data(self, data: str) -> None:
        self.here.children.append(data)


def browse(page: Path, *arguments: str, fragment: str = "") -> str:
    with tempfile.TemporaryDirectory() as home:
        ended = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
             f"--user-data-dir={home}", "--window-size=1280,1500", *arguments, f"file://{page}{fragment}"],
            capture_output=True, text=True, timeout=100,
            env={"HOME": home, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        )  # fmt: skip
    if ended.returncode != 0:
        raise AssertionError(f"the browser ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return ended.stdout
