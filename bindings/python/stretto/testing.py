# SPDX-License-Identifier: Apache-2.0
"""Runs a function as the workers of a real job, for a program's own unit tests.

    from stretto import testing

    def step(rate):                         # at the top level of the test's module
        st.init()
        ...
        return loss

    def test_step():
        first, second = testing.run(step, 0.1, workers=2)

The pytest fixture `stretto_job` is the same function.
"""

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, List, Mapping, Optional

from stretto import errors, roles, testing_worker

__all__ = ["WorkerFailed", "WorkersTimedOut", "run"]

_PATIENCE_S = 5.0  # Beyond the timeout, for workers to show their stacks and end.
_LAST_LINES = 60  # Lines of output in an error.
# Variables of a job or a launcher around the test, which this job must not inherit.
_OTHERS = ("STRETTO_SCHEDULER", "STRETTO_WORLD_SIZE", "STRETTO_RANK", "STRETTO_SERVERS",
           "STRETTO_ROLE", "DMLC_PS_ROOT_URI", "DMLC_NUM_WORKER", "DMLC_NUM_SERVER", "DMLC_ROLE",
           "STRETTO_BIND_HOST", "STRETTO_JOB_TOKEN", "MASTER_ADDR", "MASTER_PORT")


class WorkerFailed(RuntimeError):
    """The function raised in a worker, or a process of the job ended early. The text has the
    traceback of the worker that failed first, and the last lines of output.

    rank: of that worker; -1 if no function raised."""

    def __init__(self, text: str, rank: int = -1):
        super().__init__(text)
        self.rank = rank


class WorkersTimedOut(WorkerFailed):
    """The function did not return in time. The text shows where each worker was."""


def run(function: Callable[..., Any], *arguments: Any, workers: int = 2, servers: int = 1,
        timeout: float = 60.0, variables: Optional[Mapping[str, Any]] = None) -> List[Any]:
    """Calls `function(*arguments)` in each of `workers` processes of a new job with `servers`
    servers on this host, and returns their results by rank. No process is left when run() returns
    or raises.

    `function` is at the top level of a module, which each worker imports again. Arguments and
    results are None, numbers, text, tensors, and lists, tuples and dicts of them. `timeout` is in
    seconds and includes the start. `variables` are added to the environment, as text.

    Raises WorkerFailed, WorkersTimedOut, TypeError for other arguments, and Unsupported if the
    programs of a job are missing. Raises InvalidArgument for a function that workers cannot import,
    and for an invalid number of processes.
    Thread: any."""
    _check("workers", workers, 1)
    _check("servers", servers, 0)
    if not timeout > 0:
        raise errors.InvalidArgument(f"timeout is {timeout!r}, wanted seconds above 0",
                                     operation="testing.run")
    name = testing_worker.reference_to(function)
    command = [roles.program(roles.PROGRAMS["launcher"]), "--via", "local", "-n", str(workers),
               "-s", str(servers), "--settle", "1", "--grace", "1", "--name", name["name"]]
    environ = {key: value for key, value in os.environ.items() if key not in _OTHERS}
    environ.update((key, str(value)) for key, value in (variables or {}).items())
    with tempfile.TemporaryDirectory(prefix="stretto-testing-") as place:
        folder = pathlib.Path(place)
        deadline = time.monotonic() + timeout
        call = {"function": name, "path": sys.path, "deadline": deadline,
                "arguments": testing_worker.store(list(arguments), folder / "arguments")}
        (folder / "call.json").write_text(json.dumps(call), encoding="utf-8")
        status, output = _ended([*command, "--", sys.executable, "-c", testing_worker.START,
                                 str(folder / "call.json")], environ, deadline)
        sys.stdout.write(output)  # pytest shows it beside a failed test.
        failures = _failures(folder, workers, deadline)
        if status != 0 and not failures and time.monotonic() >= deadline:
            raise WorkersTimedOut(f"{name['name']} did not return within {timeout:g} s\n"
                                  f"{_last_lines(output)}")
        if status != 0 or failures:  # After sys.exit(0) in a worker the status is 0.
            raise _failure(failures, workers, status, output)
        return [_result(folder, rank, output) for rank in range(workers)]


def _check(name, value, least):
    if not isinstance(value, int) or value < least:
        raise errors.InvalidArgument(
            f"{name} is {value!r}, wanted a whole number from {least}", operation="testing.run")


def _ended(command, environ, deadline):
    # The job's exit status and output. The job always ends shortly after the deadline.
    # pylint: disable=consider-using-with
    job = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = job.communicate(timeout=deadline - time.monotonic() + _PATIENCE_S)
            return job.returncode, output
        # The launcher passes the signal on, and its grace period is a second.
        job.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            output, _ = job.communicate(timeout=_PATIENCE_S)
            return job.returncode, output
        job.kill()  # The kernel then kills the job's processes.
        output, _ = job.communicate()
        return job.returncode, output
    except BaseException:
        job.kill()
        job.wait()
        raise
    finally:
        job.stdout.close()


def _result(folder, rank, output):
    try:
        return testing_worker.load(folder / f"result{rank}")
    except FileNotFoundError:
        raise WorkerFailed(f"worker {rank} ended without a result: its process ended before the "
                           f"function returned\n{_last_lines(output)}", rank) from None


def _failures(folder, workers, deadline):
    # The exceptions that workers raised in time, each with its rank.
    failures = []
    for rank in range(workers):
        with contextlib.suppress(FileNotFoundError):
            text = (folder / f"failure{rank}.json").read_text(encoding="utf-8")
            failure = json.loads(text)
            if failure["at"] < deadline:
                failures.append((failure, rank))
    return failures


def _failure(failures, workers, status, output):
    # The error of the worker that raised first: peers that wait for it raise later.
    cause = "\n".join(line for line in output.splitlines() if line.startswith("ERROR "))
    if not failures:
        return WorkerFailed(f"the job ended with status {status}\n{_last_lines(output)}")
    failure, rank = min(failures, key=lambda one: one[0]["at"])
    return WorkerFailed(f"worker {rank} of {workers} failed\n{failure['traceback']}{cause}", rank)


def _last_lines(output):
    return "\n".join(output.splitlines()[-_LAST_LINES:])
