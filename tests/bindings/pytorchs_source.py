# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of c10d and DDP, from PyTorch's source, with backend "stretto" wherever they
name gloo:

    PYTHONPATH=build/python python3 tests/bindings/pytorchs_source.py [--any-device] [--any-words]
        SOURCE/test/distributed/test_NAME.py [CLASS.test_NAME...]

Prints one line for each test: passed, failed or skipped, its name, and the reason. Each test has
a process of its own, which forks the ranks. With --any-device, tests that ask for GPUs run, too.
With --any-words the text of errors is not compared. OVER=gloo keeps gloo, for comparison.
docs/results/0056-pytorch-2-beside-gloo.md has the results. LOG names a file for the tests' output.
"""

import collections
import contextlib
import datetime
import functools
import importlib
import inspect
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import types
import unittest

LIMIT_S = 100
os.environ.setdefault("DISTRIBUTED_TESTS_DEFAULT_TIMEOUT", "60")
os.environ.setdefault("BACKEND", "gloo")  # Tests decide by it whether they run.
os.environ.setdefault("WORLD_SIZE", "3")
os.environ.setdefault("TEMP_DIR", tempfile.gettempdir())

import torch
import torch.distributed as dist
from torch.testing._internal import common_distributed

GLOOS = (None, "gloo", "cpu:gloo", "cpu:gloo,cuda:gloo")
FORK = torch.multiprocessing.get_context("fork")


def by_stretto(function):
    """The same function with backend "stretto" instead of gloo."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*positional, **named):
        given = signature.bind_partial(*positional, **named).arguments
        if given.get("backend") in GLOOS:
            if given.get("backend") or not dist.is_initialized():
                given["backend"] = "stretto"
            given.pop("pg_options", None)
        return function(**given)

    return call


class Gloo:
    """Replaces dist.ProcessGroupGloo: makes groups of backend "stretto"."""

    def __new__(cls, store, rank, size, timeout=None):
        seconds = getattr(timeout, "_timeout", 60)
        if not hasattr(seconds, "total_seconds"):
            seconds = datetime.timedelta(seconds=float(seconds))
        given = types.SimpleNamespace(store=store, group_rank=rank, group_size=size,
                                      timeout=seconds, global_ranks_in_group=[])
        return stretto.torch.distributed._make(given, None)

    _Options = types.SimpleNamespace

    @staticmethod
    def create_device(**words):
        """Ignored: gloo's choice of a network interface."""


def under_gloos_name(function):
    """Calls such as monitored_barrier check the name gloo, not the group's abilities."""
    @functools.wraps(function)
    def call(*positional, **named):
        found = function(*positional, **named)
        return "gloo" if found == "stretto" else found

    return call


def take_over():
    """Replaces gloo in all modules of torch.distributed."""
    for name, changes in (("init_process_group", by_stretto), ("new_group", by_stretto),
                          ("get_backend", under_gloos_name)):
        function = getattr(dist, name)
        changed = changes(function)
        for path, module in list(sys.modules.items()):
            if path.startswith("torch.distributed") and vars(module).get(name) is function:
                setattr(module, name, changed)
    dist.ProcessGroupGloo = Gloo
    stretto.torch.distributed.ProcessGroup.create_device = staticmethod(Gloo.create_device)


def start_by_fork(test):
    """Forks the ranks of a test: PyTorch would spawn them, and each would import PyTorch."""
    test._start_processes(FORK.Process)


def run(test, log, results):
    """Runs one test in its own process."""
    os.setsid()
    result = unittest.TestResult()
    with open(log, "a", encoding="utf-8") as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
    test.run(result)
    wrong = result.errors + result.failures
    if wrong:
        print(wrong[0][1], flush=True)
        results.put(("failed", wrong[0][1]))
    elif result.skipped:
        results.put(("skipped", result.skipped[0][1]))
    else:
        results.put(("passed", ""))
    results.close()
    results.join_thread()
    os._exit(0)


def outcome(test, log):
    """The outcome of a test, and the reason."""
    results = FORK.Queue()
    process = FORK.Process(target=run, args=(test, log, results))
    process.start()
    try:
        found = results.get(timeout=LIMIT_S)
    except Exception:  # pylint: disable=broad-except
        found = ("failed", "it did not end")
    process.join(1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.join()
    return found


def cases(suite):
    """The cases of a suite of suites."""
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from cases(entry)
        else:
            yield entry


def brief(reason):
    """The last informative line of a traceback."""
    lines = [line.strip() for line in reason.splitlines() if line.strip()]
    errors = [line for line in lines
              if line.split(":")[0].split(".")[-1].endswith(("Error", "Mismatch", "Timeout",
                                                             "Unsupported", "InvalidArgument"))
              and not line.startswith("RuntimeError: Process ")]
    return (errors or lines or [""])[-1][:160]


def main(words):
    """Runs the named tests of a file, or all of them."""
    if words[:1] == ["--any-device"]:
        words = words[1:]
        common_distributed.skip_if_lt_x_gpu = lambda count: lambda function: function
    if words[:1] == ["--any-words"]:
        words = words[1:]
        common_distributed.TestCase.assertRaisesRegex = (
            lambda test, kind, pattern, *call, **named: test.assertRaises(kind, *call, **named))
    path = pathlib.Path(words[0]).resolve()
    sys.path[:0] = [str(path.parent), str(path.parents[1])]
    sys.argv = [str(path)]
    common_distributed.MultiProcessTestCase._spawn_processes = start_by_fork
    module = importlib.import_module(path.stem)
    loader = unittest.TestLoader()
    suite = (loader.loadTestsFromNames(words[1:], module) if words[1:]
             else loader.loadTestsFromModule(module))
    log = os.environ.get("LOG", os.devnull)
    counts = collections.Counter()
    for test in cases(suite):
        name = test.id().removeprefix(f"{path.stem}.")
        with open(log, "a", encoding="utf-8") as said:
            said.write(f"\n=== {name}\n")
        what, why = outcome(test, log)
        counts[what] += 1
        print(f"{what} {name} {brief(why)}".rstrip(), flush=True)
    print(path.stem, *(f"{what} {count}" for what, count in sorted(counts.items())))


if os.environ.get("OVER") != "gloo":
    import stretto.torch.distributed
    take_over()
if __name__ == "__main__":
    main(sys.argv[1:])
