# SPDX-License-Identifier: Apache-2.0
"""tools/check and its parts run-tests, measure and budget, each in its own small tree: counted
processor seconds, exceeded budgets, and the steps that --changed skips.
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
# Two processes in their own sessions, one of which loses its parent.
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
BUDGET = """# SPDX-License-Identifier: Apache-2.0
100 all-steps
40 release-tests
20 a/listed It starts many programs.
30 a/of/* They compile.
8 a/small
"""
RAN = "1 passed, 0 failed, 0 skipped; 7 left out, unchanged since they passed"
SLOW = "left out, because they take long: a/slow"
LINTED = "9 units, 1 linted, the rest as they last passed; 0 failed"


class Tree(unittest.TestCase):
    """A tree with copies of the tools, and stand-ins for others."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("tools", "tests", "bin", "build/check"):
            (self.root / name).mkdir(parents=True)
        for name in ("budget", "check", "common.sh", "measure", "run-tests"):
            shutil.copy(TOOLS / name, self.root / "tools")
        self.write("tests/budget.txt", BUDGET)
        budget = self.root / "tools/budget"  # Its own work is not tested here.
        budget.write_text(budget.read_text().replace("range(400000)", "range(4000)"))

    def write(self, path, text):
        (self.root / path).write_text(text)

    def stand_in(self, path, text=""):
        self.write(path, f"#!/bin/sh\n{text}\n")
        (self.root / path).chmod(0o755)

    def run_tool(self, name, *options, status=0):
        """The output of a tool."""
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

    def test_leaves_out_what_passed_and_what_takes_long(self):
        self.write("build/CTestTestfile.cmake", """
            add_test(a/fast true)
            add_test(a/passed true)
            add_test(a/slower true)
            add_test(a/slow true)
            set_tests_properties(a/fast a/slow PROPERTIES LABELS inputs-unknown)
            """)
        self.run_tool("run-tests", "release")
        self.write("build/Testing/Temporary/CTestCostData.txt",
                   "a/fast 1 4.0\na/passed 9 0.1\na/slower 1 6\na/slow 1 11.5\n---\n")
        said = self.run_tool("run-tests", "release", "--changed", "--within", "6", "--jobs", "2")
        self.assertIn("1 passed, 0 failed, 0 skipped; 2 left out, unchanged", said)
        self.assertIn("left out, because they take long: a/slow\n", said)


class Budget(Tree):
    """tools/budget."""

    def after(self, tests, *, steps="30.0 release-build\n35.5 release-tests\n", status=0):
        """The tool's output on a run with these times."""
        self.write("build/check/steps", steps)
        self.write("build/check/release-times",
                   "".join(f"1.0 {seconds} {name}\n" for name, seconds in tests.items()))
        return self.run_tool("budget", status=status)

    def test_what_keeps_to_it_passes(self):
        tests = {"a/listed": 20, "a/of/one": 30, "a/small": 8, "a/new": 20}
        self.assertEqual(self.after(tests).strip(), "")

    def test_growth_of_one_test_is_named_and_passes(self):
        said = self.after({"a/listed": 99, "a/of/one": 99})
        self.assertIn("a/listed grew from 20.0 to 99.0", said)
        self.assertNotIn("exceeded", said)

    def test_what_exceeds_it_is_named(self):
        for tests, said in (({"a/small": 21}, "row gives no reason"),
                            ({"a/new": 21}, "a/new took 21.0 processor seconds, and no row")):
            with self.subTest(tests=tests):
                self.assertIn(said, self.after(tests, status=1))

    def test_a_sum_that_exceeds_it_names_the_tests_that_grew(self):
        for steps, said in (("100 release-build\n51 release-tests\n", "all-steps took 151"),
                            ("1 release-build\n61 release-tests\n", "release-tests took 61")):
            said_all = self.after({"a/listed": 21, "a/small": 7}, steps=steps, status=1)
            self.assertIn(said, said_all)
            self.assertIn("a/listed grew from 20.0 to 21.0", said_all)
            self.assertNotIn("a/small", said_all)

    def test_a_sum_that_grew_by_less_is_named_and_passes(self):
        said = self.after({}, steps="60 release-build\n41 release-tests\n")
        self.assertIn("release-tests grew from 40.0 to 41.0", said)

    def test_record_writes_rows_and_keeps_reasons(self):
        tests = {"a/listed": 25, "a/of/one": 12, "a/small": 5, "a/new": 9, "a/tiny": 6}
        self.after(tests)
        self.assertIn("failed or had options", self.run_tool("budget", "--record", status=1))
        self.after(tests, steps="30.0 release-build\n35.5 release-tests\n0.1 budget\n")
        self.run_tool("budget", "--record")
        rows = [line.split(maxsplit=2)
                for line in (self.root / "tests/budget.txt").read_text().splitlines()]
        self.assertGreater(float(rows.pop(1)[0]), 0)
        self.assertEqual(rows, [
            ["#", "SPDX-License-Identifier:", "Apache-2.0"], ["100.00", "all-steps"],
            ["50.00", "release-tests"], ["30.00", "a/of/*", "They compile."],
            ["25.00", "a/listed", "It starts many programs."], ["9.00", "a/new"]])

    def test_slower_host_gets_more_seconds(self):
        self.write("tests/budget.txt", BUDGET + "0.0001 reference-work\n")
        self.after({"a/listed": 99, "a/new": 99}, steps="99 release-build\n99 release-tests\n")
        self.write("tests/budget.txt", BUDGET + "1000 reference-work\n")
        self.assertIn("release-tests took 99",
                      self.after({}, steps="1 release-build\n99 release-tests\n", status=1))

    def test_without_rows_of_steps_there_is_no_budget(self):
        self.write("tests/budget.txt", "# A comment.\n1 a/listed Why.\n")
        self.assertIn("no budget yet", self.after({"a/new": 99}))


class Check(Tree):
    """tools/check, with stand-ins for all its tools."""

    def setUp(self):
        super().setUp()
        self.write("a.h", "")
        for path in ("bin/clang-format-19", "bin/nvcc", "tools/docs", "tools/fuzz",
                     "tools/check_cuda", "tools/install-dependencies", "tools/other-debian"):
            self.stand_in(path)
        self.stand_in("bin/setarch", 'shift; exec "$@"')
        self.stand_in("bin/cmake", f"[ $2 != check ] || exec {sys.executable} -c '{BURN}'")
        self.stand_in("tools/lint", f"echo '{LINTED}'")
        self.stand_in("tools/run-tests",
                      f"echo '{RAN}\n{SLOW}'; echo '2.0 20.5 a/new' >build/check/$1-times")

    def test_changed_tells_what_it_left_out(self):
        said = self.run_tool("check", "--changed").splitlines()
        self.assertEqual(said[-6:], [
            "--changed left out:", "  parts: asan (with fuzz targets) tsan cuda debian13",
            f"  release tests: {RAN}", f"  release tests: {SLOW}", f"  lint: {LINTED}",
            "check: all passed"])
        steps = dict(reversed(line.split())
                     for line in (self.root / "build/check/steps").read_text().splitlines())
        self.assertGreaterEqual(float(steps["release-build"]), 0.05)

    def test_only_a_run_of_all_parts_has_a_budget(self):
        self.assertNotIn("budget", self.run_tool("check", "--quick"))
        self.assertNotIn("budget", self.run_tool("check", "--all"))
        said = self.run_tool("check", status=1)
        self.assertIn("a/new took 20.5 processor seconds, and no row", said)
        self.assertRegex(said, r"(?m)^ *20\.5 s +2\.0 s  tsan +a/new$")
        self.assertEqual(said.splitlines()[-1], "check: FAILED: budget")

    def test_debian13_is_of_all_parts(self):
        self.stand_in("tools/other-debian", "echo this is $1; exit 1")
        said = self.run_tool("check", "--only", "debian13", status=1)
        self.assertIn("this is trixie", said)
        self.assertEqual(said.splitlines()[-1], "check: FAILED: debian13")
        said = self.run_tool("check", "--all", status=1 if os.geteuid() == 0 else 0)
        self.assertEqual("FAILED: debian13" in said, os.geteuid() == 0)
        self.assertNotIn("debian13", self.run_tool("check", "--quick"))

    def test_failed_run_is_not_compared_with_the_budget(self):
        self.stand_in("tools/lint", "exit 1")
        self.assertNotIn("budget", self.run_tool("check", status=1))


if __name__ == "__main__":
    unittest.main()
