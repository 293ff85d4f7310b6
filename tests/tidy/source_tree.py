# SPDX-License-Identifier: Apache-2.0
"""The repository as the style rules see it: its text files, read once, without what is built."""

import functools
import os
import pathlib
from dataclasses import dataclass

import cpp

CPP_SUFFIXES = (".cc", ".h", ".cu", ".cuh")
LARGEST_TEXT_BYTES = 1 << 20


@dataclass(frozen=True)
class Offence:
    """A place that breaks a rule."""

    path: str
    line: int
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.text}"


class File:
    """One text file. `path` is relative to the root, with forward slashes."""

    def __init__(self, path, text, executable=False):
        self.path = path
        self.text = text
        self.executable = executable
        self.lines = text.splitlines()

    @property
    def name(self):
        return self.path.rsplit("/", 1)[-1]

    @property
    def stem(self):
        return self.name.split(".", 1)[0]

    @property
    def top(self):
        """The folder of the root that holds it; "" for a file of the root."""
        return self.path.split("/", 1)[0] if "/" in self.path else ""

    @property
    def is_cpp(self):
        return self.name.endswith(CPP_SUFFIXES)

    @property
    def is_python(self):
        return self.name.endswith(".py") or self._shebang("python3")

    @property
    def is_shell(self):
        return self.name.endswith(".sh") or self._shebang("bash") or self._shebang("sh")

    @property
    def is_script(self):
        """To be run by its name."""
        return self.text.startswith("#!")

    @property
    def is_cmake(self):
        return self.name == "CMakeLists.txt" or self.name.endswith((".cmake", ".cmake.in"))

    @property
    def is_source(self):
        """Code, in whatever language."""
        return (self.is_cpp or self.is_python or self.is_shell or self.is_cmake
                or self.name.endswith(".proto"))

    @functools.cached_property
    def code(self):
        """C++ with comments and the insides of strings blanked; lines and columns stay."""
        return cpp.blank(self.text)

    @functools.cached_property
    def code_lines(self):
        return self.code.splitlines()

    @functools.cached_property
    def outline(self):
        return cpp.outline(self.code)

    def offence(self, line, text):
        return Offence(self.path, line, text)

    def matches(self, pattern, lines=None):
        """(line number, match) of each line that `pattern` is found in."""
        for number, line in enumerate(self.lines if lines is None else lines, start=1):
            match = pattern.search(line)
            if match:
                yield number, match

    def _shebang(self, program):
        first = self.lines[0] if self.lines else ""
        return first.startswith("#!") and first.split("/")[-1].split()[-1] == program


class Tree:
    """All text files below `root`, by path."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = {}
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if _is_ours(folder, name, self.root))
            for name in sorted(set(names) - {".git"}):  # A file, in a linked work tree.
                self._read(pathlib.Path(folder, name))

    def _read(self, path):
        if path.is_symlink() or path.stat().st_size > LARGEST_TEXT_BYTES:
            return
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            return
        relative = path.relative_to(self.root).as_posix()
        self.files[relative] = File(relative, text, os.access(path, os.X_OK))

    def __iter__(self):
        return iter(self.files.values())

    def exists(self, path):
        return (self.root / path).exists()

    def cpp(self, *tops):
        """C++ files, of the folders named or of all."""
        return [f for f in self if f.is_cpp and (not tops or f.top in tops)]

    def python(self):
        return [f for f in self if f.is_python]

    def markdown(self):
        return [f for f in self if f.name.endswith(".md")]


def _is_ours(folder, name, root):
    if name == "__pycache__" or name == ".git":
        return False
    if pathlib.Path(folder) == root:
        return not name.startswith("build") and (not name.startswith(".") or name == ".ci")
    return True
