# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C reaches every process of a job at once. Tracebacks from all of them are useless and hide
the earlier output; one line from each names its position.
"""

import inspect
import os
import pathlib
import sys
import traceback

from stretto import environment

_OURS = str(pathlib.Path(__file__).parent) + os.sep


def tell_in_one_line():
    """From now on an uncaught KeyboardInterrupt is reported in one line, in a worker that was
    started as part of a job. Has no effect if sys.excepthook was replaced."""
    is_worker = "worker" in (environment.text("STRETTO_ROLE"), environment.text("DMLC_ROLE"))
    if is_worker and sys.excepthook is sys.__excepthook__:
        sys.excepthook = _tell


def _tell(kind, error, trace):
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    frames = traceback.extract_tb(trace)
    theirs = [frame for frame in frames if not frame.filename.startswith((_OURS, "<frozen"))]
    where = f" in {theirs[-1].filename}:{theirs[-1].lineno}" if theirs else ""
    sys.stderr.write(f"KeyboardInterrupt{where}\n")  # A single write, so that lines do not mix.


def ends_by_error():
    """True if the program, which is at its end, exits by an uncaught exception. Debuggers, test
    runners and interactive shells set sys.last_type for exceptions that they have handled; only in
    an uncaught exception is the first frame the interpreter's own first frame."""
    trace = getattr(sys, "last_traceback", None)
    if not hasattr(sys, "last_type") or hasattr(sys, "ps1") or trace is None:
        return False
    pauses = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
    first = trace.tb_frame
    return first.f_back is None and not first.f_code.co_flags & pauses
