# SPDX-License-Identifier: Apache-2.0
"""How our Python programs end where their output cannot be written."""

import os
import sys


def _forget():
    """Python would try to write what is left once more at its end, and complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def told(run, role):
    """The exit status that `run` returns, once all that it printed is written: where that fails, 1
    and an error line. A reader that has left (`| head -1`) is no error."""
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return run()
        finally:  # At --help, argparse leaves by an exception.
            sys.stdout.flush()
    except BrokenPipeError:
        _forget()
        return 0
    except OSError as error:
        _forget()
        print(f"ERROR Resource role={role} rank=- peer=- op=print cause=standard output did not "
              f"take all: {error.strerror}", file=sys.stderr)
        return 1
