# SPDX-License-Identifier: Apache-2.0
"""Runs a program of torch.distributed over Stretto, unchanged, whatever backend it names.

    python3 -m stretto.torch.distributed PROGRAM.py [ARGUMENT...]
    python3 -m stretto.torch.distributed -m MODULE [ARGUMENT...]

In it init_process_group and new_group make groups of backend "stretto". Everything else is as if
Python ran the program. Processes that the program starts by `spawn` are Python's own, and take the
backend that they name.
"""

import functools
import importlib.util
import inspect
import pathlib
import sys
import types

import torch.distributed as dist

import stretto.torch.distributed


def _by_stretto(function):
    """The same function, for backend "stretto"; options of other backends are left out."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*positional, **named):
        given = signature.bind_partial(*positional, **named).arguments
        given["backend"] = "stretto"
        given.pop("device_id", None)
        if not isinstance(given.get("pg_options"), stretto.torch.distributed.Options):
            given.pop("pg_options", None)
        return function(**given)

    return call


def take_over():
    """Replaces the functions in all loaded modules of torch.distributed, and for later imports."""
    for name in ("init_process_group", "new_group"):
        function = getattr(dist, name)
        changed = _by_stretto(function)
        for path, module in list(sys.modules.items()):
            if path.startswith("torch.distributed") and vars(module).get(name) is function:
                setattr(module, name, changed)


def run(code, file, spec=None):
    """Runs it as the main module, which it stays, also for exit handlers."""
    main_module = types.ModuleType("__main__")
    main_module.__file__ = file
    main_module.__builtins__ = __builtins__
    if spec is not None:
        main_module.__spec__, main_module.__package__ = spec, spec.parent
    sys.modules["__main__"] = main_module
    exec(code, main_module.__dict__)  # pylint: disable=exec-used


def run_file(word):
    """As `python3 WORD` does."""
    path = pathlib.Path(word)
    if not path.is_file():
        sys.exit(f"python3 -m stretto.torch.distributed: there is no program {word}")
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = str(path.resolve().parent)
    file = str(path.absolute())
    run(compile(path.read_bytes(), file, "exec"), file)


def run_module(name):
    """As `python3 -m NAME` does."""
    spec = importlib.util.find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = importlib.util.find_spec(f"{name}.__main__")
    if spec is None:
        sys.exit(f"python3 -m stretto.torch.distributed: there is no program in module {name}")
    sys.argv[0] = spec.origin
    run(spec.loader.get_code(spec.name), spec.origin, spec)


def main(words):
    """Runs the program as `python3 WORDS...` would."""
    is_module = words[:1] == ["-m"]
    if is_module:
        words = words[1:]
    if not words or words[0].startswith("-"):
        sys.exit("usage: python3 -m stretto.torch.distributed (PROGRAM.py | -m MODULE) "
                 f"[ARGUMENT...]\nwanted a program, found {' '.join(words) or 'nothing'}")
    take_over()
    sys.argv = words
    (run_module if is_module else run_file)(words[0])


if __name__ == "__main__":
    main(sys.argv[1:])
