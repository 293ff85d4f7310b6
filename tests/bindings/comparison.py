# SPDX-License-Identifier: Apache-2.0
"""Compares backend "stretto" of torch.distributed with gloo, case by case, and prints a table:

    PYTHONPATH=build/python STRETTO_BIN_DIR=build/bin python3 tests/bindings/comparison.py \\
        [--only calls,ddp,parallel] [--match WORDS]

Two ranks run a case by each backend, and give tensors that are compared. `worse` is a case that
gloo passes and stretto does not. A case that both fail with errors of one type is a limit of this
PyTorch, as are types that both reject; `both fail` is any other case that both fail. The exit
status is 1 if a case is worse, differs, or if both fail. The ranks run case after case; a failure
or a stall ends them, and the next case gets new ones.
"""

import argparse
import importlib
import io
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import traceback
import typing
import warnings

LIMIT_S = 120.0  # For one case.
_ONLY_GLOO = "only implemented for GLOO"  # PyTorch looks at the backend's name.
_NO_ANSWER = ("Hang", "Died")
# Both reject these types, each by its own error.
_REFUSED_BY_BOTH = tuple(f"all_reduce {name}" for name in ("uint16", "uint32", "float8_e4m3fn"))
_BAD = ("worse", "differ", "both fail")
GROUPS = ("calls", "ddp", "parallel")
SIZE = 2


class Case(typing.NamedTuple):
    """A test on both ranks: function(rank) returns tensors, or a value for torch.save()."""

    name: str
    function: typing.Callable


class Known(typing.NamedTuple):
    """A case's result where a backend may be wrong: the actual and the correct value."""

    found: typing.Any
    right: typing.Any


class Outcome(typing.NamedTuple):
    """The outcome of one case on one backend: each rank's result, or the first error."""

    error: str
    results: tuple


class Cases(list):
    """Cases in their order, made by decorators."""

    def add(self, name, function, *arguments):
        """Adds a case with arguments."""
        self.append(Case(name, lambda rank: function(rank, *arguments)))

    def case(self, function):
        """Decorator: the function's name is that of the case."""
        self.append(Case(function.__name__.replace("_", " "), function))
        return function


def all_cases(groups=GROUPS):
    """(group, case) in the order of the table."""
    for group in groups:
        for case in importlib.import_module(f"comparison_{group}").CASES:
            yield group, case


def _error_of(error):
    text = f"{type(error).__name__}: {error}".strip()
    return " ".join(text.split())[:200]


def _run_rank(backend, rank, port, cases, pipe):
    # In a fork: runs cases by their numbers until the pipe ends.
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(SIZE), MASTER_ADDR="127.0.0.1",
                      LOCAL_WORLD_SIZE=str(SIZE), MASTER_PORT=str(port), LOCAL_RANK=str(rank))
    null = os.open(os.devnull, os.O_WRONLY)
    if os.environ.get("COMPARISON_LOG") != "1":
        os.dup2(null, 1)
        os.dup2(null, 2)
    warnings.simplefilter("ignore")
    started = False
    for number in iter(pipe.recv, None):
        try:
            if not started:
                dist.init_process_group(backend)
                started = True
            torch.manual_seed(7)
            given, found = cases[number].function(rank), io.BytesIO()
            if isinstance(given, Known):
                if not torch.equal(*given):
                    raise AssertionError("the result is wrong")
                given = given.found
            torch.save(given, found)
            dist.barrier()
            pipe.send(("", found.getvalue()))
        except Exception as error:  # pylint: disable=broad-except
            traceback.print_exc()
            pipe.send((_error_of(error), b""))
    if started:
        dist.destroy_process_group()
    os._exit(0)


class Ranks:
    """Two processes of one backend, which run cases until one fails."""

    def __init__(self, backend, cases):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        context = multiprocessing.get_context("fork")
        self._pipes, self._processes = [], []
        for rank in range(SIZE):
            ours, theirs = context.Pipe()
            process = context.Process(target=_run_rank, args=(backend, rank, port, cases, theirs))
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)

    def run(self, number):
        """The Outcome of a case."""
        told = []
        try:
            for pipe in self._pipes:
                pipe.send(number)
            waiting = dict(zip(self._pipes, range(SIZE)))
            while waiting:
                ready = multiprocessing.connection.wait(list(waiting), LIMIT_S)
                if not ready:
                    return Outcome(f"Hang: rank {list(waiting.values())[0]} was not done within "
                                   f"{LIMIT_S:g} s", ())
                for pipe in ready:
                    told.append((waiting.pop(pipe), *pipe.recv()))
                    if told[-1][1]:  # The other rank may wait forever.
                        return Outcome(told[-1][1], ())
        except (EOFError, OSError):
            return Outcome("Died: a rank ended by itself", ())
        return Outcome("", tuple(data for _, _, data in sorted(told)))

    def end(self, kill=False):
        """Makes them leave, or kills them."""
        for pipe, process in zip(self._pipes, self._processes):
            if kill:
                os.kill(process.pid, signal.SIGKILL)
            else:
                try:
                    pipe.send(None)
                except OSError:
                    pass
        for process in self._processes:
            process.join(20)
            if process.is_alive():
                process.kill()
                process.join()


def run_all(backend, cases, say=lambda number, outcome: None):
    """The outcomes of the cases."""
    outcomes, ranks = [], None
    for number in range(len(cases)):
        ranks = ranks or Ranks(backend, cases)
        outcomes.append(ranks.run(number))
        say(number, outcomes[-1])
        if outcomes[-1].error:
            ranks.end(kill=True)
            ranks = None
    if ranks is not None:
        ranks.end()
    return outcomes


def _flat(value):
    # Tensors and plain values in one order.
    if isinstance(value, dict):
        return [part for key in sorted(value, key=str) for part in _flat(value[key])]
    if isinstance(value, (list, tuple)):
        return [part for one in value for part in _flat(one)]
    return [value]


def _alike(one, other):
    # 2: the same bits; 1: close; 0: different.
    import torch
    if not isinstance(one, torch.Tensor) or not isinstance(other, torch.Tensor):
        return 2 * (one == other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return 0
    if one.is_sparse:
        one, other = one.to_dense(), other.to_dense()
    if torch.equal(one, other):
        return 2
    if not (one.is_floating_point() or one.is_complex()):
        return 0
    wide = torch.complex128 if one.is_complex() else torch.float64
    return int(torch.allclose(one.to(wide), other.to(wide), rtol=1e-3, atol=1e-4, equal_nan=True))


def compared(one, other):
    """The comparison of two outcomes' results: "equal", "close" or "differ"."""
    import torch
    level = 2
    for left, right in zip(one.results, other.results):
        def load(data):
            arguments = {} if torch.__version__.startswith("1.") else {"weights_only": False}
            return _flat(torch.load(io.BytesIO(data), **arguments))
        left, right = load(left), load(right)
        if len(left) != len(right):
            return "differ"
        level = min([level, *(_alike(*pair) for pair in zip(left, right))])
    return ("differ", "close", "equal")[level]


def verdict(stretto, gloo, name=""):
    """The verdict of a row, other than passed and failed."""
    if stretto.error and gloo.error:
        kinds = [one.error.partition(":")[0] for one in (stretto, gloo)]
        is_alike = kinds[0] == kinds[1] or name in _REFUSED_BY_BOTH
        has_answers = not set(kinds) & set(_NO_ANSWER)
        return "limit of this PyTorch" if is_alike and has_answers else "both fail"
    if stretto.error:
        return "limit of this PyTorch" if _ONLY_GLOO in stretto.error else "worse"
    return "better" if gloo.error else compared(stretto, gloo)


def prepare():
    """Imports the modules of all ranks, in their parent."""
    warnings.simplefilter("ignore")
    import torch
    import stretto.torch.distributed  # pylint: disable=unused-import
    return torch.__version__


def table(chosen, say=print):
    """Runs the chosen (group, case) and prints a row for each; returns the counts by verdict."""
    cases = [case for _, case in chosen]
    found = {backend: run_all(backend, cases) for backend in ("gloo", "stretto")}
    counts = {}
    for (group, case), stretto, gloo in zip(chosen, found["stretto"], found["gloo"]):
        word = verdict(stretto, gloo, case.name)
        counts.setdefault(group, {}).setdefault(word, 0)
        counts[group][word] += 1
        passed = ["failed" if one.error else "passed" for one in (stretto, gloo)]
        why = gloo.error or stretto.error
        if word == "both fail":
            why = f"{stretto.error}; gloo: {gloo.error}"
        say(f"| {group} | {case.name} | {passed[0]} | {passed[1]} | {word} | "
            f"{why.replace('|', '/')} |")
    return counts


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(GROUPS), help="groups of cases")
    parser.add_argument("--match", default="", help="only cases whose name has these words")
    given = parser.parse_args()
    version = prepare()
    chosen = [(group, case) for group, case in all_cases(given.only.split(","))
              if given.match in case.name]
    print(f"PyTorch {version}, {SIZE} ranks, {len(chosen)} cases\n")
    print("| | case | stretto | gloo | results | error |\n|---|---|---|---|---|---|")
    counts = table(chosen, lambda row: print(row, flush=True))
    for group, words in counts.items():
        print(f"\n{group}: " + ", ".join(f"{count} {word}" for word, count in words.items()))
    bad = sum(sum(words.get(word, 0) for word in _BAD) for words in counts.values())
    sys.exit(int(bad > 0))


if __name__ == "__main__":
    # As the module that the cases import.
    importlib.import_module("comparison").main()
