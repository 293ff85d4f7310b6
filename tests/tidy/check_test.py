# SPDX-License-Identifier: Apache-2.0
"""tools/check and its parts run-tests and measure, each in a small tree of its own: what they count
as processor seconds.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
BURN = "import time\nwhile time.process_time() < 0.1: pass\n"
# Two processes in sessions of their own, of which one loses its parent.
PROCESSES = f"""
import contextlib, os, select, subprocess, sys
burn = [sys.executable, "-c", {BURN!r}]
orphan = ["sh", "-c", 'setsid "$@" >&2 & echo $!', "sh", *burn]
process = int(subprocess.run(orphan, check=True, stdout=subprocess.PIPE).stdout)
with contextlib.suppress(ProcessLookupError):
    select.select([os.pidfd_open(process)], [], [])
subprocess.run(burn, check=True, start_new_session=True)
assert "TEST_MEASURES_FILE" not in os.environ
"""
TESTS = """
set(launcher [[{python};-IS;{tools}/measure]])
add_test(a/processes ${{launcher}} a/processes {python} {tools}/processes.py)
add_test(a/idle ${{launcher}} a/idle sh -c "true")
add_test(a/skipped ${{launcher}} a/skipped sh -c "exit 77")
set_tests_properties(a/skipped PROPERTIES SKIP_RETURN_CODE 77)
add_test(a/killed ${{launcher}} a/killed sh -c "kill -SEGV $$")
"""


class Tree(unittest.TestCase):
    """A tree with copies of the tools, and stand-ins for others."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("tools", "tests", "bin", "build/check"):
            (self.root / name).mkdir(parents=True)
        for name in ("check", "common.sh", "measure", "run-tests"):
            shutil.copy(TOOLS / name, self.root / "tools")

    def write(self, path, text):
        (self.root / path).write_text(text)

    def stand_in(self, path, text=""):
        self.write(path, f"#!/bin/sh\n{text}\n")
        (self.root / path).chmod(0o755)

    def run_tool(self, name, *options, status=0):
        """What a tool printed."""
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        done = subprocess.run([self.root / "tools" / name, *options], check=False, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={**os.environ, "PATH": path})
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout


class RunTests(Tree):
    """tools/run-tests and tools/measure."""

    def test_counts_all_processes_of_a_test(self):
        self.write("tools/processes.py", PROCESSES)
        self.write("build/CTestTestfile.cmake",
                   TESTS.format(python=sys.executable, tools=self.root / "tools"))
        said = self.run_tool("run-tests", "release", status=1)
        self.assertIn("2 passed, 1 failed, 1 skipped", said)
        self.assertIn("a/killed (SEGFAULT)", said)
        lines = (self.root / "build/check/release-times").read_text().splitlines()
        times = {name: float(seconds) for _, seconds, name in map(str.split, lines)}
        self.assertEqual(sorted(times), ["a/idle", "a/killed", "a/processes"])
        self.assertGreaterEqual(times["a/processes"], 0.15)


class Check(Tree):
    """tools/check, with stand-ins for all that it runs."""

    def setUp(self):
        super().setUp()
        self.write("a.h", "")
        for path in ("bin/clang-format", "bin/nvcc", "tools/docs", "tools/fuzz",
                     "tools/check_cuda", "tools/lint", "tools/install-dependencies"):
            self.stand_in(path)
        self.stand_in("bin/setarch", 'shift; exec "$@"')
        self.stand_in("bin/cmake", f"[ $2 != check ] || exec {sys.executable} -c '{BURN}'")
        self.stand_in("tools/run-tests", "echo '2.0 11.5 a/new' >build/check/$1-times")

    def test_a_step_has_its_processor_seconds(self):
        said = self.run_tool("check")
        self.assertRegex(said, r"(?m)^step, seconds +wall +processor  result$")
        self.assertRegex(said, r"(?m)^ *11\.5 s +2\.0 s  tsan +a/new$")


if __name__ == "__main__":
    unittest.main()
