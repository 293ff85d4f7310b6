# SPDX-License-Identifier: Apache-2.0
"""stretto.testing: functions that run as the workers of a real job, and the fixture of pytest."""

import importlib
import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import textwrap
import types
import unittest
from unittest import mock

import torch

import jobs

jobs.use_packages()

# pylint: disable=wrong-import-position
import testing_functions
import testing_waiting

from stretto import errors, testing, testing_worker

SHORT = 15.0  # Seconds: far more than the start of workers that import no PyTorch.


class Values(unittest.TestCase):

    def test_stored_values_keep_their_types(self):
        value = [None, True, 1.5, float("inf"), "text", (1, [2]), {1: "a", "b": {}},
                 torch.arange(3)]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "value"
            testing_worker.store(value, path)
            found = testing_worker.load(path)
        self.assertEqual(found[:-1], value[:-1])
        self.assertTrue(torch.equal(found[-1], value[-1]))

    def test_stored_view_leaves_its_base(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "value"
            testing_worker.store(torch.zeros(1 << 20)[:2], path)
            self.assertLess(path.with_suffix(".pt").stat().st_size, 1 << 16)
            self.assertEqual(testing_worker.load(path).tolist(), [0.0, 0.0])

    def test_numbers_that_no_job_has_are_refused(self):
        for wanted, given in (("workers is 0, wanted", {"workers": 0}),
                              ("servers is -1, wanted", {"servers": -1}),
                              ("timeout is 0, wanted", {"timeout": 0})):
            with self.assertRaisesRegex(errors.InvalidArgument, wanted):
                testing.run(testing_functions.adds, **given)

    def test_functions_without_a_name_are_refused(self):
        for function in (lambda: 1, self.test_stored_values_keep_their_types, print):
            with self.assertRaisesRegex(errors.InvalidArgument, "wanted a function at the top"):
                testing.run(function)


class Run(jobs.PythonTest):

    def test_results_come_by_rank(self):
        outer = {"STRETTO_BIND_HOST": "192.0.2.1", "STRETTO_JOB_TOKEN": "of another job"}
        with mock.patch.dict(os.environ, outer):
            found = testing.run(testing_functions.adds, 1.0, {"text": "a b"}, workers=3,
                                variables={"GIVEN": 7})
        for rank, (total, kinds, words) in enumerate(found):
            self.assertEqual(total.item(), 6.0)
            self.assertEqual(kinds, {"rank": rank, 7: (None, True)})
            self.assertEqual(words, ["a b", "7"])

    def test_a_training_step(self):
        first, second = testing.run(testing_functions.trains, servers=0)
        self.assertTrue(torch.equal(first["weight"], second["weight"]))

    def test_the_first_failure_is_shown(self):
        with self.assertRaises(testing.WorkerFailed) as caught:
            testing.run(testing_functions.one_fails)
        self.assertEqual(caught.exception.rank, 1)
        text = str(caught.exception)
        self.assertIn("worker 1 of 2 failed\nTraceback", text)
        self.assertIn("in one_fails\n", text)
        self.assertIn("ValueError: no data here", text)

    def test_a_killed_worker_is_named(self):
        with self.assertRaisesRegex(testing.WorkerFailed, "rank=1 .*killed by SIGKILL"):
            testing.run(testing_functions.one_is_killed)

    def test_worker_that_exits_is_named(self):
        for function, words in (
                (testing_functions.one_exits, "worker 1 ended without a result"),
                (testing_functions.one_calls_exit, "worker 1 of 2 failed\n(.|\n)*in one_calls"),
                (testing_functions.one_raises_base_exception, "Failed: wanted 2")):
            with self.assertRaisesRegex(testing.WorkerFailed, words) as caught:
                testing.run(function)
            self.assertEqual(caught.exception.rank, 1)

    def test_failure_before_deadline_is_no_timeout(self):
        failure = {"at": 1.0, "traceback": "ValueError: no data"}
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "failure1.json").write_text(json.dumps(failure), encoding="utf-8")
            for deadline, wanted in ((2.0, [(failure, 1)]), (0.5, [])):
                self.assertEqual(testing._failures(pathlib.Path(folder), 2, deadline), wanted)

    def test_a_timeout_shows_stacks_and_leaves_nobody(self):
        with self.assertRaises(testing.WorkersTimedOut) as caught:
            testing.run(testing_waiting.waits, 1000.0, timeout=SHORT)
        self.assertIn("did not return within 15 s", str(caught.exception))
        self.assertIn("in waits", str(caught.exception))
        self.assert_nobody_left()

    def test_other_results_are_refused(self):
        with self.assertRaisesRegex(testing.WorkerFailed, "found a set"):
            testing.run(testing_functions.returns_a_set, workers=1)

    def assert_fixture_is_run(self):
        """Without pytest: runs the plugin's fixture without its decorator."""
        stand_in = types.SimpleNamespace(fixture=lambda function: function)
        with mock.patch.dict(sys.modules, {"pytest": stand_in}):
            plugin = importlib.import_module("stretto_pytest")
        self.assertIs(plugin.stretto_job(), testing.run)

    def test_broken_module_lets_pytest_run(self):
        script = textwrap.dedent("""
            import importlib.metadata, sys, types
            sys.modules["pytest"] = types.SimpleNamespace(fixture=lambda function: function)
            sys.modules["stretto._core"] = None  # Importing it fails.
            found = importlib.metadata.distribution("stretto").entry_points
            plugin, = [point for point in found if point.group == "pytest11"]
            try:
                plugin.load().stretto_job()
            except ImportError as error:
                print("fixture:", error)
            """)
        run = self.start("plugin", [sys.executable, "-c", script])
        self.assertEqual(run.end(jobs.TORCH_PATIENCE), 0, run.output())
        self.assertIn("fixture:", run.output())

    def test_fixture_of_pytest(self):
        if not importlib.util.find_spec("pytest"):
            self.assert_fixture_is_run()
            return
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "test_mine.py").write_text(textwrap.dedent("""
                def rank():
                    import stretto.torch as st
                    st.init()
                    return st.rank()

                def test_ranks(stretto_job):
                    assert stretto_job(rank, workers=2) == [0, 1]

                def fails():
                    assert rank() == 0

                def test_failure(stretto_job):
                    stretto_job(fails, workers=2)
                """), encoding="utf-8")
            run = self.start("pytest", [sys.executable, "-m", "pytest", "-p", "no:cacheprovider",
                                        folder])
            self.assertEqual(run.end(jobs.TORCH_PATIENCE), 1, run.output())
            self.assertIn("1 failed, 1 passed", run.output())
            self.assertIn("AssertionError", run.output())


if __name__ == "__main__":
    unittest.main()
