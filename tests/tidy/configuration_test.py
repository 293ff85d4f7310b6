# SPDX-License-Identifier: Apache-2.0
"""docs/CONFIGURATION.md and the code agree: every variable, flag and CMake option of either is in
the other.
"""

import pathlib
import re
import unittest

from source_tree import Tree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/CONFIGURATION.md"
# Folders of programs that run in a job. Tests and other tools have their own variables, which the
# page need not name.
PROGRAMS = ("common/", "van/", "observe/", "scheduler/", "server/", "worker/", "input/",
            "rpc/",
            "tools/launch/", "bindings/python/")
# For the launcher's own starts on other hosts; users do not set it.
OWN_FLAGS = {"agent"}
_NAME = r"(?:STRETTO|DMLC|BYTEPS)_[A-Z0-9]+(?:_[A-Z0-9]+)*"
_LITERAL = re.compile(rf"[\"']({_NAME})[\"']")
_READ_BY_SHELL = re.compile(rf"\$\{{?({_NAME})")
_FLAG = re.compile(r"`--?([A-Za-z][\w-]*)")
_DEFINED_FLAG = re.compile(r"^DEFINE_\w+\(\s*(\w+),", re.MULTILINE)
_SPELLED_FLAG = re.compile(r"\{\"([A-Za-z][\w-]*)\",\s*Flag::")
_OPTION = re.compile(r"^(?:stretto_switch|stretto_feature|option)\((\w+)"
                     r"|^set\((\w+) [^)]*\bCACHE\b", re.MULTILINE)


class Configuration(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.tree = list(Tree(ROOT))
        cls.page = cls.text_of(PAGE)

    @classmethod
    def text_of(cls, path):
        """A file of the repository."""
        return next(file.text for file in cls.tree if file.path == path)

    def section(self, title):
        """The text below a heading of the page."""
        found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", self.page,
                          re.MULTILINE | re.DOTALL)
        self.assertIsNotNone(found, f"{PAGE} has no section '{title}'")
        return found[1]

    def named_in(self, *folders):
        """Variables that programs of these folders name."""
        found = set()
        for file in self.tree:
            if not file.path.startswith(folders) or file.path.endswith(".md") or file.is_cmake:
                continue
            if file.is_cpp or file.is_python:
                found.update(_LITERAL.findall(file.text))
            else:
                found.update(_READ_BY_SHELL.findall(file.text))
        return found

    def options(self):
        """CMake options that users may set."""
        found = set()
        for file in self.tree:
            if file.is_cmake and not file.path.startswith("tests/"):
                found.update(one or other for one, other in _OPTION.findall(file.text))
        return {name for name in found if not name.startswith("CMAKE_")}

    def assert_same(self, page, code, what):
        self.assertNotEqual(code, set())
        self.assertEqual(sorted(code - page), [], f"{what} that {PAGE} does not name")
        self.assertEqual(sorted(page - code), [], f"{what} of {PAGE} that do not exist")

    def test_variables(self):
        told = set(re.findall(rf"\b{_NAME}\b", self.page)) - self.options()
        anywhere = self.named_in("")
        self.assertEqual(sorted(told - anywhere), [], f"variables of {PAGE} that nothing reads")
        self.assertEqual(sorted(self.named_in(*PROGRAMS) - told), [],
                         f"variables that {PAGE} does not name")

    def test_a_warning_of_unread_variables_knows_all(self):
        known = set(_LITERAL.findall(self.text_of("common/config/variables.cc")))
        others = {name for name in self.named_in(*PROGRAMS) if name.startswith("STRETTO_")}
        self.assertEqual(sorted(others - known), [], "variables that would be called unread")

    def test_flags_of_scheduler_and_server(self):
        for name in ("scheduler", "server"):
            with self.subTest(name):
                page = set(_FLAG.findall(self.section(f"stretto-{name}")))
                code = set(_DEFINED_FLAG.findall(self.text_of(f"{name}/main.cc")))
                self.assert_same(page - {"help"}, code, f"flags of stretto-{name}")

    def test_flags_of_the_launcher(self):
        page = set(_FLAG.findall(self.section("stretto-launch")))
        code = set(_SPELLED_FLAG.findall(self.text_of("tools/launch/plan/flags.cc"))) - OWN_FLAGS
        self.assert_same(page, code, "flags of stretto-launch")

    def test_options_of_cmake(self):
        section = self.section("Building and testing")
        cells = "".join(re.findall(r"^\|([^|]*)\|", section, re.MULTILINE))
        page = set(re.findall(r"`([A-Z_]+)`", cells)) - self.named_in("")
        self.assert_same(page, self.options() - self.named_in(""), "options of CMake")


if __name__ == "__main__":
    unittest.main()
