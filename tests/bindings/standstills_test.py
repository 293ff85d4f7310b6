# SPDX-License-Identifier: Apache-2.0
"""tools/standstills in short: it names the cause of some stalled jobs, reports nothing for a job
that evaluates and saves, and would notice a wrong report.
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import jobs

TOOL = jobs.cluster.SOURCE / "tools" / "standstills"


def standstills(*flags):
    """The exit status, the summary, and the other output."""
    command = [sys.executable, TOOL, "--json", "--verbose", "--build", jobs.cluster.BUILD, *flags]
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


class Standstills(unittest.TestCase):

    def test_some_are_named_right(self):
        kinds = ("stopped", "deadlock", "data", "teardown", "other call", "server")
        status, result, told = standstills("--runs", len(kinds), "--kinds", ",".join(kinds))
        self.assertEqual(result["wrong"], {}, told)
        self.assertEqual(status, 0, told)

    def test_evaluation_and_saving_are_none(self):
        status, result, told = standstills("--soak", 6)
        self.assertEqual(result["false"], 0, told)
        self.assertEqual(status, 0, told)

    def test_a_wrong_name_would_be_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = os.path.join(folder, "standstills")
            with open(TOOL, encoding="utf-8") as tool, open(copy, "w", encoding="utf-8") as wrong:
                text = tool.read().replace('"deadlock": ("worker 1"', '"deadlock": ("worker 2"')
                text = text.replace('pathlib.Path(__file__).resolve().parent.parent',
                                    f'pathlib.Path("{jobs.cluster.SOURCE}")')
                wrong.write(text)
            done = subprocess.run(
                [sys.executable, copy, "--runs", "1", "--kinds", "deadlock", "--build",
                 str(jobs.cluster.BUILD)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn("found ('worker 1', 'computing', 'lock')", done.stderr)


if __name__ == "__main__":
    unittest.main()
