# SPDX-License-Identifier: Apache-2.0
"""Runs a program of torch.distributed over Stretto, unchanged, whatever backend it names.

    python3 -m stretto.torch.distributed PROGRAM.py [ARGUMENT...]
    python3 -m stretto.torch.distributed -m MODULE [ARGUMENT...]

In it init_process_group and new_group make groups of backend "stretto". All else is as if Python
ran the program. Processes that it starts itself by `spawn` are Python's own, and take the backend
that they name.
"""

import functools
import inspect
import pathlib
import runpy
import sys

import torch.distributed as dist

import stretto.torch.distributed


def _by_stretto(function):
    """The same function, for backend "stretto"; options of other backends are left out."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*positional, **named):
        given = signature.bind_partial(*positional, **named).arguments
        given["backend"] = "stretto"
        if not isinstance(given.get("pg_options"), stretto.torch.distributed.Options):
            given.pop("pg_options", None)
        return function(**given)

    return call


def take_over():
    """From now on, and for what imports the functions from now on."""
    for name in ("init_process_group", "new_group"):
        changed = _by_stretto(getattr(dist, name))
        for module in (dist, dist.distributed_c10d):
            setattr(module, name, changed)


def main(words):
    """Runs the program as `python3 WORDS...` would."""
    is_module = words[:1] == ["-m"]
    if is_module:
        words = words[1:]
    if not words or words[0].startswith("-"):
        sys.exit("usage: python3 -m stretto.torch.distributed (PROGRAM.py | -m MODULE) "
                 f"[ARGUMENT...]\nwanted a program, found {' '.join(words) or 'nothing'}")
    if not is_module and not pathlib.Path(words[0]).exists():
        sys.exit(f"python3 -m stretto.torch.distributed: there is no program {words[0]}")
    take_over()
    sys.argv = words
    if is_module:
        sys.path[0] = ""
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(pathlib.Path(words[0]).resolve().parent)
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
