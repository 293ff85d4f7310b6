# SPDX-License-Identifier: Apache-2.0
"""The experiment about codecs and accuracy: its short form trains through real processes, writes a
line for each run, and does not make a run twice.
"""

import pathlib
import tempfile
import unittest

import jobs

import cluster

SCRIPT = cluster.SOURCE / "tools" / "bench" / "converge" / "codecs.py"
SECONDS = 4 * jobs.TORCH_PATIENCE


class Codecs(jobs.PythonTest):

    def script(self, *words):
        """What the script says."""
        process = self.alone(SCRIPT, *words, "--programs", cluster.BIN)
        self.assertEqual(process.end(SECONDS), 0, process.output())
        return process.lines

    def test_the_short_form_trains_and_remembers(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder) / "runs.csv"
            said = self.script("--short", "--tasks", "digits", "--out", runs)
            lines = runs.read_text(encoding="utf-8").splitlines()
            self.assertEqual(lines[0], "task,codec,feedback,rate,momentum,workers,seed,"
                                       "short,result,seconds")
            self.assertEqual([line.rsplit(",", 5)[0] for line in lines[1:]],
                             ["digits,lossless,no,default,default",
                              'digits,"onebit,scaling=true",no,default,default',
                              'digits,"onebit,scaling=true",yes,default,default'])
            self.assertEqual(sum(line.startswith("| `onebit,scaling=true` |") for line in said), 1)
            again = self.script("--short", "--tasks", "digits", "--out", runs)
            self.assertEqual(again, said[-len(again):], "only the tables")
            self.assertEqual(runs.read_text(encoding="utf-8").splitlines(), lines)
        self.assert_nobody_left()

    def test_a_file_of_other_columns_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            runs = pathlib.Path(folder) / "runs.csv"
            runs.write_text("task,codec\ndigits,fp16\n", encoding="utf-8")
            process = self.alone(SCRIPT, "--out", runs, "--programs", cluster.BIN)
            self.assertEqual(process.end(SECONDS), 1, process.output())
        self.assertIn("has the columns task,codec, wanted", process.output())

    def test_says_what_is_wrong(self):
        process = self.alone(SCRIPT, "--out", "runs.csv", "--tasks", "resnet", "--programs",
                             cluster.BIN)
        self.assertEqual(process.end(SECONDS), 2, process.output())
        self.assertIn("found resnet", process.output())


if __name__ == "__main__":
    unittest.main()
