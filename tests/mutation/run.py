# SPDX-License-Identifier: Apache-2.0
"""Runs drawn mutants against the tests, one after another, and reports the survivors. It edits and
restores its own checkout, so give it a separate one:

    git worktree add ../mutants && cd ../mutants && cmake --preset dev
    python3 tests/mutation/run.py --build build-dev mutants.jsonl > results.jsonl

Each mutant runs the tests of its folder first, then the tests of folders that build on it. A
failure counts if it occurs twice, so that a test that fails on a busy machine finds nothing.
--order 3,7 runs these mutants of each folder. Otherwise the file's spares replace mutants that do
not compile, or whose line has gone from its file.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Warnings that mutants may cause, but that must not fail the build.
LENIENT = " ".join(f'_Pragma("GCC diagnostic ignored \\"-W{name}\\"")' for name in (
    "unused-variable", "unused-but-set-variable", "unused-parameter", "unused-function",
    "parentheses", "conversion", "sign-compare", "type-limits", "empty-body", "return-type")) + "\n"
PATIENCE = 600  # Seconds for a program of tests; a program that takes longer hangs and fails.

OUT_OF_TIME = "ran out of time"

BINARIES = ("stretto-server", "stretto-scheduler", "stretto-launch", "stretto-top",
            "stretto-trace", "stretto-checkpoint", "stretto-bench", "hello", "bin/digits",
            "training", "reading", "coding")
# The tests of a mutant, by its folder: programs of unit tests, then scripts of whole processes.
PROGRAMS = {
    "server": ("test_server", "test_worker", "test_sim"),
    "input": ("test_input", "test_worker", "test_tools", "test_experiments"),
    "worker": ("test_worker", "test_sim", "test_tools", "test_tools_bench"),
    "van": ("test_van", "test_conformance", "test_server", "test_worker", "test_observe_trace",
            "test_rpc", "test_sim"),
    "ops": ("test_ops", "test_worker", "test_server"),
    "collective": ("test_collective", "test_sim"),
    "scheduler": ("test_scheduler", "test_sim", "test_observe_trace"),
    "bindings": (),
}
SCRIPTS = {
    "server": ("e2e/rounds_test", "e2e/modes_test", "e2e/mismatch_test", "e2e/failures_test"),
    "input": ("e2e/input_test", "bindings/input_test"),
    "worker": ("bindings/parameters_test", "e2e/rounds_test"),
    "van": ("e2e/rounds_test", "e2e/failures_test", "bindings/observe_test"),
    "ops": ("e2e/codecs_test",),
    "collective": (),
    "scheduler": ("e2e/rounds_test", "e2e/startup_test", "bindings/observe_test",
                  "e2e/failures_test"),
    "bindings": ("bindings/training_test", "bindings/exchange_test", "bindings/layers_test",
                 "bindings/order_test", "bindings/misuse_test", "bindings/delays_test",
                 "bindings/parameters_test", "bindings/surface_test", "bindings/staging_test",
                 "bindings/compression_test", "bindings/codecs_test", "bindings/objects_test",
                 "bindings/suspend_test", "bindings/failures_test", "bindings/input_test",
                 "bindings/examples_test", "bindings/observe_test"),
}


def folder_of(path):
    return next(name for name in PROGRAMS if path.startswith(name + "/"))


def _heed_interrupts():
    """A shell makes background programs ignore interrupts, which tests of signals would notice."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Checkout:
    """One mutant at a time in the files, built and tested."""

    def __init__(self, build, jobs, selected):
        self.selected = selected
        self.build = pathlib.Path(build).resolve()
        self.jobs = jobs
        self.environment = os.environ | {
            "STRETTO_BIN_DIR": str(self.build / "bin"), "STRETTO_SOURCE_DIR": str(ROOT),
            "STRETTO_BUILD_DIR": str(self.build)}

    def make(self, *targets):
        """Whether the targets compile and link."""
        command = ["ninja", "-C", str(self.build), f"-j{self.jobs}", *targets]
        return self._run(command, 1800)[0]

    def _run(self, command, seconds):
        process = subprocess.Popen(command, cwd=ROOT, env=self.environment, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   start_new_session=True, errors="replace",
                                   preexec_fn=_heed_interrupts)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return False, OUT_OF_TIME
        return process.returncode == 0, output

    def killer(self, folder, scripts):
        """The name of the test that finds the mutant now in the files, or None."""
        for program in PROGRAMS[folder]:
            if not self.make(program):
                return "does not compile"
            found = self._program(self.build / "tests" / program)
            if found:
                return f"{program} {found}"
        if not scripts:
            return None
        targets = ["stretto_python"] if any("bindings/" in name for name in SCRIPTS[folder]) else []
        if not self.make(*BINARIES, *targets):
            return "does not compile"
        for script in SCRIPTS[folder]:
            path = ROOT / "tests" / f"{script}.py"
            if path.exists():
                found = self._script(path)
                if found:
                    return f"{script} {found}"
        return None

    def expect_sound(self, folders):
        """Ends the program if a test fails without a mutant: it would kill all of them."""
        for folder in folders:
            killer = self.killer(folder, True)
            if killer:
                sys.exit(f"{killer} fails without a mutant")

    def _program(self, path):
        quiet = [str(path), "--gtest_brief=1", "--gtest_fail_fast",
                 f"--gtest_filter={self.selected}"]
        passed, output = self._run(quiet, PATIENCE)
        if passed:
            return None
        failed = re.search(r"\[  FAILED  \] ([\w/.]+)", output)
        if output == OUT_OF_TIME:
            return output
        again = quiet + ([f"--gtest_filter={failed[1]}"] if failed else [])
        if self._run(again, PATIENCE)[0]:
            return None
        return failed[1] if failed else _last_words(output)

    def _script(self, path):
        passed, output = self._run([sys.executable, str(path), "-f"], PATIENCE)
        if passed:
            return None
        if output == OUT_OF_TIME:
            return output
        failed = re.search(r"^(?:FAIL|ERROR): (\w+)", output, re.MULTILINE)
        if self._run([sys.executable, str(path), "-f"], PATIENCE)[0]:
            return None
        return failed[1] if failed else _last_words(output)


def _last_words(output):
    return output.strip().split("\n")[-1][:120] or "ended without a word"


def place_of(mutant):
    """The file and the index of the mutant's line: the nearest to its old position, or a unique
    line in another file of its folder if code has moved. None if it is gone."""
    old = mutant["line"] - 1
    suffix = pathlib.Path(mutant["file"]).suffix
    found = {}
    for path in sorted((ROOT / mutant["folder"]).rglob(f"*{suffix}")):
        lines = path.read_text().split("\n")
        places = [at for at, line in enumerate(lines) if line == mutant["before"]]
        if places:
            found[str(path.relative_to(ROOT))] = places
    if mutant["file"] in found:
        return mutant["file"], min(found[mutant["file"]], key=lambda place: abs(place - old))
    if sum(map(len, found.values())) != 1:
        return None
    [(path, [at])] = found.items()
    return path, at


def planted(path, at, mutant):
    """The text of the file with the mutant in it."""
    lines = (ROOT / path).read_text().split("\n")
    text = "\n".join([*lines[:at], mutant["after"], *lines[at + 1:]])
    return LENIENT + text if path.endswith(".cc") else text


def judge(checkout, mutant, scripts):
    """The mutant with its outcome."""
    began = time.monotonic()
    place = place_of(mutant)
    if place is None:
        return mutant | {"killed_by": None, "fate": "gone"}
    mutant["file"], mutant["line"] = place[0], place[1] + 1
    path = ROOT / mutant["file"]
    text, original = planted(*place, mutant), path.read_text()
    try:
        path.write_text(text)
        killer = checkout.killer(folder_of(mutant["file"]), scripts)
    finally:
        path.write_text(original)
    fate = {None: "lives", "does not compile": "does not compile"}.get(killer, "killed")
    return mutant | {"killed_by": killer if fate == "killed" else None, "fate": fate,
                     "seconds": round(time.monotonic() - began)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("mutants", type=pathlib.Path)
    parser.add_argument("--build", required=True, help="a build folder of this checkout")
    parser.add_argument("--folder", help="only the mutants of this folder")
    parser.add_argument("--order", help="only these of each folder, such as 0,3")
    parser.add_argument("--filter", default="*", help="of the unit tests, as GoogleTest has it")
    parser.add_argument("--check", action="store_true", help="first without a mutant")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--no-scripts", action="store_true", help="unit tests only")
    arguments = parser.parse_args()
    mutants = [json.loads(line) for line in arguments.mutants.read_text().splitlines()]
    orders = arguments.order and [int(order) for order in arguments.order.split(",")]
    checkout = Checkout(arguments.build, arguments.jobs, arguments.filter)
    if arguments.check:
        checkout.expect_sound([arguments.folder] if arguments.folder else PROGRAMS)
    wanted = {}
    for mutant in mutants:
        folder = mutant["folder"]
        if arguments.folder not in (None, folder) or (orders and mutant["order"] not in orders):
            continue
        if mutant["spare"] and not orders and wanted.get(folder, 0) <= 0:
            continue
        judged = judge(checkout, mutant, not arguments.no_scripts)
        stillborn = judged["fate"] in ("gone", "does not compile")
        wanted[folder] = wanted.get(folder, 0) + stillborn - bool(mutant["spare"])
        print(json.dumps(judged), flush=True)


if __name__ == "__main__":
    main()
