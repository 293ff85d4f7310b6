# SPDX-License-Identifier: Apache-2.0
"""Short runs of tools/reliability: it writes the table of times of docs/RELIABILITY.md; the
existing table there is recognised, and others are not.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import cluster

TOOL = cluster.SOURCE / "tools" / "reliability"
PAGE = cluster.SOURCE / "docs" / "RELIABILITY.md"


def reliability(*flags):
    """Of the build under test."""
    command = [sys.executable, TOOL, *flags]
    return subprocess.run([str(word) for word in command], env=os.environ, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


class Reliability(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.page = pathlib.Path(folder.name) / "page.md"

    def test_the_pages_table_is_one_that_is_written(self):
        done = reliability("--check")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_short_run_writes_a_table_and_nothing_else(self):
        before = PAGE.read_text(encoding="utf-8")
        self.page.write_text(before, encoding="utf-8")
        done = reliability("--runs", 1, "--stops", 1, "--page", self.page, "--date", "2001-02-03")
        self.assertEqual(done.returncode, 0, done.stdout)
        after = self.page.read_text(encoding="utf-8")
        self.assertIn("tools/reliability, 2001-02-03 -->", after)
        self.assertEqual(len(re.findall(r"^\| C-[^|]*\|[^|]*\| 1 \| 0 \|", after, re.MULTILINE)), 6)
        old, new = set(before.splitlines()), set(after.splitlines())
        for line in old ^ new:
            self.assertRegex(line, r"^(\| C-|<!-- written by tools/reliability)")
        self.assertEqual(reliability("--check", "--page", self.page).returncode, 0)

    def test_another_table_is_refused(self):
        text = PAGE.read_text(encoding="utf-8")
        for wrong, says in ((text.replace("| runs | failures |", "| runs | wrong |"), "head"),
                            (re.sub(r"(\| \d+ \| 0 \| )\d+\.\d+ s", r"\1soon", text), "no row"),
                            (re.sub(r"\| C-1 \| a worker is killed.*\n", "", text), "5 rows"),
                            (text.replace("<!-- end of what is written -->", ""), "has no")):
            self.page.write_text(wrong, encoding="utf-8")
            done = reliability("--check", "--page", self.page)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn(says, done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
