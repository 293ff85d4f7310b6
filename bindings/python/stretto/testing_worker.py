# SPDX-License-Identifier: Apache-2.0
"""A worker of stretto.testing: imports the function named by the test, calls it, and stores its
result in a file in the test's own folder.
"""

import faulthandler
import importlib
import importlib.util
import json
import os
import pathlib
import sys
import time
import traceback

from stretto import errors

# Program of a worker's interpreter; the argument is the path of call.json.
START = ("import json, sys; call = json.load(open(sys.argv[1])); sys.path[:] = call['path']; "
         "from stretto import testing_worker; testing_worker.main(call, sys.argv[1])")


def reference_to(function):
    """Where another process of this host finds the function. InvalidArgument if it cannot."""
    name = getattr(function, "__qualname__", "")
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    if not name.isidentifier() or getattr(module, name, None) is not function or not file:
        raise errors.InvalidArgument(
            f"{name or function!r} cannot be imported by workers: wanted a function at the top "
            "level of a module with a file, and not a method, a lambda or an inner function",
            operation="testing.run")
    return {"name": name, "module": module.__name__, "file": os.path.abspath(file)}


def _function_at(place):
    # The module by its name, if that is the test's; else by its file, as for __main__.
    found = None
    if place["module"] != "__main__":
        try:
            found = importlib.util.find_spec(place["module"])
        except (ImportError, ValueError):
            found = None  # pytest imported it from its file alone.
    if found is not None and found.origin == place["file"]:
        return getattr(importlib.import_module(place["module"]), place["name"])
    name = "__stretto_test__" if place["module"] == "__main__" else place["module"]
    spec = importlib.util.spec_from_file_location(name, place["file"])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return getattr(module, place["name"])


def store(value, path):
    """Writes a value for load(): JSON, and tensors in separate files. TypeError for other types:
    nothing is pickled. Returns the path, as text."""
    tensors = []
    text = json.dumps(_encoded(value, tensors))
    if tensors:
        sys.modules["torch"].save(tensors, path.with_suffix(".pt"))
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.rename(path.with_suffix(".json"))
    return str(path)


def load(path):
    """The value that store() has written there."""
    tensors = []
    if path.with_suffix(".pt").exists():
        import torch  # pylint: disable=import-outside-toplevel
        tensors = torch.load(path.with_suffix(".pt"), weights_only=True)
    return _decoded(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), tensors)


def _encoded(value, tensors):
    # Types that JSON lacks are a pair of a type and its parts.
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return ["tuple" if isinstance(value, tuple) else "list",
                [_encoded(part, tensors) for part in value]]
    if isinstance(value, dict):
        return ["dict", [[_encoded(part, tensors) for part in pair] for pair in value.items()]]
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        tensors.append(value.detach().cpu().clone())  # A view's file would include its whole base.
        return ["tensor", len(tensors) - 1]
    raise TypeError(f"wanted None, numbers, text, lists, tuples, dicts and tensors, found a "
                    f"{type(value).__name__}: {value!r}")


def _decoded(value, tensors):
    if not isinstance(value, list):
        return value
    kind, parts = value
    if kind == "tensor":
        return tensors[parts]
    if kind == "dict":
        return {_decoded(key, tensors): _decoded(part, tensors) for key, part in parts}
    found = [_decoded(part, tensors) for part in parts]
    return tuple(found) if kind == "tuple" else found


def main(call, path):
    """Calls the function. At the deadline the process exits and prints its stacks."""
    faulthandler.dump_traceback_later(max(call["deadline"] - time.monotonic(), 0.1), exit=True)
    folder = pathlib.Path(path).parent
    rank = int(os.environ["STRETTO_RANK"])
    try:
        function = _function_at(call["function"])
        result = function(*load(pathlib.Path(call["arguments"])))
        store(result, folder / f"result{rank}")
    except BaseException:  # pytest's fail() and skip() raise no Exception; nor does sys.exit().
        failure = {"at": time.monotonic(), "traceback": traceback.format_exc()}
        part = folder / f"failure{rank}.part"
        part.write_text(json.dumps(failure), encoding="utf-8")
        part.rename(folder / f"failure{rank}.json")
        raise
