# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C reaches every process of a job at once. A traceback from each of them tells nobody
anything, and hides what was said before; one line from each says where it was.
"""

import os
import pathlib
import sys
import traceback

from stretto import environment

_OURS = str(pathlib.Path(__file__).parent) + os.sep


def tell_in_one_line():
    """From now on a KeyboardInterrupt that nobody catches is told in one line, in a worker that
    was started as one of a job. Nothing changes where somebody has set sys.excepthook."""
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
    sys.stderr.write(f"KeyboardInterrupt{where}\n")  # A whole line, also beside others'.
