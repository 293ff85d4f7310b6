# SPDX-License-Identifier: Apache-2.0
"""Commands on the pages for users, with the mark of each block. In blocks ```sh every line is a
command, in blocks ```console each line after "$ ". A block that no test runs unchanged has a mark
right above it, in a comment that readers do not see:

    <!-- run by tests/e2e/install_test.py -->
    <!-- not run: it needs three hosts -->
"""

import pathlib
import re
from typing import NamedTuple

COMMANDS = ("sh", "console")
OTHERS = ("cmake", "cpp", "python", "text", "toml", "yaml", "dockerfile")
_BLOCK = re.compile(r"(?P<mark>^<!-- (?:run by|not run:)[^\n]*-->\n)?^ *```(?P<language>[^\n]*)\n"
                    r"(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"<!-- (?:run by (?P<test>\S+)|not run: (?P<reason>.{10,}))(?: -->)")


class Block(NamedTuple):
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    mark: str

    @property
    def where(self):
        return f"{self.page}:{self.line}"

    @property
    def test(self):
        """The file of the test that runs the block, by its mark; None: the mark names no test."""
        found = _MARK.fullmatch(self.mark)
        return found and found["test"]

    @property
    def reason(self):
        """The reason why no test runs the block, by its mark; None: the mark has none."""
        found = _MARK.fullmatch(self.mark)
        return found and found["reason"]

    def commands(self):
        """Each command in one line; a backslash at its end continues a line."""
        text = re.sub(r"\\\n>?\s*", " ", self.text)
        lines = [line.strip() for line in text.splitlines()]
        if self.language == "console":
            return [line[2:] for line in lines if line.startswith("$ ")]
        return [line for line in lines if line and not line.startswith("#")]


def blocks_in(page, text):
    """Every fenced block of a page's text, in order."""
    return [Block(page, text.count("\n", 0, match.start("language")) + 1, match["language"],
                  match["text"], (match["mark"] or "").strip())
            for match in _BLOCK.finditer(text)]


def blocks(root):
    """Every fenced block of the pages for users. Decisions and results describe the past."""
    found = []
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted(root.glob("docs/*.md")),
             *sorted(root.glob("examples/*/README.md"))]
    for path in pages:
        name = str(pathlib.Path(path).relative_to(root))
        found += blocks_in(name, path.read_text(encoding="utf-8"))
    return found
