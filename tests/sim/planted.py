#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants a bug in the production code and proves that the simulator catches it.

usage: planted.py [--seen | --in-turn] planted/NAME.toml

A file names the bug, the invariants of which at least one must fail ("assert: " and the condition
for an assert in production code), the folders of the code, and edits. If it names a simulation,
only the seeds of that simulation run. If it names rules of `history`, the second oracle
(losses/history_checker.h) must also report one of these rules as broken. An edit names a function,
a text in it, and the replacement. The function is searched in all sources of the folders, and white
space does not count, so moving or formatting a function does not make the file stale. `seen` names
the seed of the simulation that caught the bug before (--seen writes it): this seed runs first, and
all seeds run if it fails to catch the bug. With --in-turn and without STRETTO_TEST_ALL=1, only the
checks without a compiler run, unless the bug has its turn: a sixth of all bugs have, others after
any change of a source. The test fails if a text is not found exactly once, or if an invariant, a
rule, a simulation or a folder does not exist. The edited sources are compiled and linked before the
unchanged libraries, whose functions they replace. If that is not enough (`inlined` says so), the
sources that the build compiles together with them are included. The same seeds must pass without
the bug: the tests `*.Every*` of sim do that. Some bugs occurred in real parameter servers (a
barrier that counts, an ack on receipt, a value that the next round overwrites).
"""

import functools
import itertools
import json
import os
import pathlib
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import tomllib
import zlib

SOURCE = pathlib.Path(os.environ.get("STRETTO_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("STRETTO_BUILD_DIR", SOURCE / "build"))
HISTORY = "HistorySimulation"
SIMULATIONS = ("LossSimulation", "Simulation", "TrainingSimulation", "CallsSimulation",
               "CollectiveSimulation", "ElasticSimulation", "AmongSimulation", "SimulatedDisk",
               "ReturnsSimulation", "StandbySimulation", "SchedulerReturnsSimulation",
               "SchedulerStandbySimulation", "ElasticStandbySimulation", "MovesSimulation",
               "ElasticMovesSimulation", "ElasticReturnsSimulation", "SavingSimulation")
SEEDS = int(os.environ.get("STRETTO_MUTANT_SEEDS", "1000"))
STAGES = [1, *(end for end in (11, 101) if end <= SEEDS), SEEDS + 1]
SKIPPED = 77  # Exit status with which ctest counts a test as not run.
MOST_OTHERS = 20  # Unwanted invariants that fail before a bug counts as missed.

_TOKEN = re.compile(r'\w+|"(?:[^"\\]|\\.)*"|\S')


class Stale(Exception):
    """A file that names something that the sources lack."""


class Missed(Exception):
    """A bug that no wanted invariant caught."""


def pattern_of(text):
    """A regular expression that finds the text with any white space."""
    return re.compile(r"\s*".join(re.escape(token) for token in _TOKEN.findall(text)))


def bodies(text, function):
    """(first, last) of each definition of a function; a definition begins and ends in column 0."""
    start = re.compile(rf"^[A-Za-z][^;{{}}]*?\b{re.escape(function)}\(", re.MULTILINE)
    for match in start.finditer(text):
        end = text.find("\n}", match.start())
        opening = re.compile(r"[;{]").search(text, match.end())
        if opening and opening.group() == "{" and end > 0:
            yield match.start(), end + 2


@functools.cache
def text_of(*folders):
    """The concatenated text of all sources in these folders."""
    return "\n".join(path.read_text() for folder in folders
                     for path in sorted((SOURCE / folder).rglob("*"))
                     if path.suffix in (".cc", ".h"))


@functools.cache
def production():
    """The folders of code that may be edited."""
    return tuple(path.name for path in sorted(SOURCE.iterdir())
                 if path.name != "tests" and (path / "CMakeLists.txt").exists())


def check_names(bug):
    """Raises Stale if the bug names something that no source has. Otherwise a missing invariant
    among several wanted ones, or a simulation without tests, would go unnoticed."""
    missing = [folder for folder in bug["folders"] if not (SOURCE / folder).is_dir()]
    if missing:
        raise Stale(f"no folder: {missing}")
    said = text_of("tests/sim")
    if bug.get("simulation", SIMULATIONS[0]) not in SIMULATIONS:
        raise Stale(f"no simulation: {bug['simulation']}, wanted one of {SIMULATIONS}")
    for name in [*bug["trips"], *bug.get("history", [])]:
        condition = name.removeprefix("assert: ")
        if condition != name:
            asserted = pattern_of(f"STRETTO_CHECK({condition})")
            known = asserted.search(text_of(*production()))
        else:
            known = re.search(rf'"(invariant: )?{re.escape(name)}("|\\n)', said)
        if not known:
            raise Stale(f"no invariant: {name}")


def plant(bug):
    """The edited text of each file that the bug changes: {path below SOURCE: text}."""
    texts = {path.relative_to(SOURCE): path.read_text()
             for folder in bug["folders"] for path in sorted((SOURCE / folder).rglob("*.cc"))}
    changed = {}
    for edit in bug["edit"]:
        places = [(path, match) for path, text in texts.items()
                  for first, last in bodies(text, edit["function"])
                  for match in pattern_of(edit["find"]).finditer(text, first, last)]
        if edit["find"] == "{":  # The start of a function.
            places = places[:1]
        if len(places) != 1:
            raise Stale(f"{len(places)} places, wanted 1: {edit['function']}: {edit['find']}")
        [(path, match)] = places
        text = texts[path]
        texts[path] = text[:match.start()] + edit["replace"] + text[match.end():]
        changed[path] = True
    prelude = bug.get("prelude", "")
    return {path: f"{prelude}\n#line 1\n{texts[path]}" for path in changed}


def units():
    """The compilation of each file: {file: (source given to the compiler, command)}. The source may
    be a unity source, which includes the file and others."""
    found = {}
    for entry in json.loads((BUILD / "compile_commands.json").read_text()):
        unit = pathlib.Path(entry["file"])
        found[unit] = (unit, shlex.split(entry["command"]))
        if "/Unity/" in entry["file"]:
            for file in re.findall(r'#include "(.*)"', unit.read_text()):
                found[pathlib.Path(file)] = found[unit]
    return found


def compile_edited(texts, folder, whole_units):
    """The objects of the edited files alone, or of all units that include them: within a unit the
    compiler may have inlined short functions."""
    found = units()
    sources = {}
    for path, text in texts.items():
        unit, command = found[SOURCE / path]
        edited = folder / str(path).replace("/", "_")
        edited.write_text(text)
        if whole_units and unit != SOURCE / path:
            whole, _ = sources.get(unit, (unit.read_text(), command))
            sources[unit] = whole.replace(f'"{SOURCE / path}"', f'"{edited}"'), command
        else:
            sources[path] = f'#include "{edited}"\n', command
    objects = []
    for number, (text, command) in enumerate(sources.values()):
        source = folder / f"unit_{number}.cc"
        source.write_text(text)
        objects.append(source.with_suffix(".o"))
        compile_file(list(command), source, objects[-1])
    return objects


def compile_file(words, source, target):
    """The build's command without optimisation and without the compiler launcher."""
    first = next(i for i, word in enumerate(words) if re.search(r"(\+\+|cc|clang)$", word)
                 and not word.endswith("ccache"))
    words = words[first:]
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    words = [word for word in words if word not in ("-Werror", "-O2")]
    subprocess.run([*words, "-O0", "-w"], check=True, cwd=BUILD)


def link(objects, program):
    """Links the simulator with these objects, whose functions override the libraries'."""
    listed = subprocess.run(["ninja", "-t", "commands", "tests/test_sim"], check=True, cwd=BUILD,
                            stdout=subprocess.PIPE, text=True)
    # The build's rules give the linker command as ": && COMMAND && :".
    words = shlex.split(listed.stdout.splitlines()[-1].removeprefix(": &&").removesuffix("&& :"))
    output = words.index("-o")
    subprocess.run([*words[:output], *objects, "-Wl,--allow-multiple-definition", "-o", program,
                    *words[output + 2:]], check=True, cwd=BUILD)


def limit_processor_time():
    """A limit on processor time, not wall time: other tests run concurrently."""
    resource.setrlimit(resource.RLIMIT_CPU, (300, 300))


def simulate(program, simulation, first, count):
    """The invariant that failed or None, the seed, and the end of the output."""
    done = subprocess.run(
        [program, f"--gtest_filter={simulation}.Every*", "--gtest_fail_fast"], capture_output=True,
        text=True, check=False, preexec_fn=limit_processor_time,
        env=dict(os.environ, STRETTO_SIM_SEEDS=str(count), STRETTO_SIM_FIRST_SEED=str(first)))
    if "[==========] Running 0 tests" in done.stdout:
        sys.exit(f"{simulation}.Every* is no test")
    if done.returncode == 0:
        return None, None, ""
    stated = re.search(r"^invariant: (.*)$", done.stdout, re.MULTILINE)
    asserted = re.search(r"^stretto bug: \S+ (.*) does not hold$", done.stderr, re.MULTILINE)
    invariant = (stated and stated.group(1)) or (asserted and f"assert: {asserted.group(1)}")
    seed = re.search(r"STRETTO_SIM_FIRST_SEED=(\d+)", done.stdout + done.stderr)
    output = done.stdout[-2000:] + done.stderr[-2000:]
    if invariant is None or seed is None:
        raise Missed(f"{simulation} ended with {done.returncode}, named no invariant\n{output}")
    return invariant, int(seed.group(1)), output


def has_turn(name):
    """Whether the bug is in the sixth that is tried with the current sources."""
    bug = (SOURCE / "tests/sim/planted" / f"{name}.toml").read_text()
    return zlib.crc32((name + bug + text_of(*production(), "tests/sim")).encode()) % 6 == 0


def main(name, write_seen, in_turn):
    path = pathlib.Path(name)
    bug = tomllib.loads(path.read_text())
    try:
        check_names(bug)
        texts = plant(bug)
    except Stale as stale:
        sys.exit(f"{name} is stale: {stale}")
    if in_turn and os.environ.get("STRETTO_TEST_ALL") != "1" and not has_turn(path.stem):
        print(f"{path.stem}: its place is there; it is not its turn (STRETTO_TEST_ALL=1 tries all)")
        sys.exit(SKIPPED)
    try:
        inlined = bug.get("inlined", False)
        try:
            seen = catch(bug, texts, inlined)
        except Missed:
            if inlined:
                raise
            inlined = True
            seen = catch(bug, texts, inlined)
    except Missed as missed:
        sys.exit(str(missed))
    if write_seen:
        note(path, seen, inlined)


def catch(bug, texts, whole_units):
    """The seeds that caught the bug, by simulation. A program compiled without whole units may lack
    the bug in places, so it runs fewer seeds."""
    seeds = STAGES if whole_units else STAGES[:3]
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = pathlib.Path(name_of_folder)
        objects = compile_edited(texts, folder, whole_units)
        program = folder / "planted"
        link(objects, program)
        named = bug.get("simulation")
        seen = expect(bug, bug["trips"], program, [named] if named else SIMULATIONS, seeds)
        if "history" in bug:
            rules = [f"history: {rule}" for rule in bug["history"]]
            seen |= expect(bug, rules, program, [HISTORY], seeds)
    return seen


def note(path, seen, inlined):
    """Writes the seeds that caught the bug into the file."""
    lines = [line for line in path.read_text().splitlines()
             if not line.startswith(("seen = ", "inlined = "))]
    place = lines.index("[[edit]]") - 1
    if inlined:
        lines.insert(place, "inlined = true")
    told = ", ".join(f"{simulation} = {seed}" for simulation, seed in sorted(seen.items()))
    lines.insert(place, f"seen = {{ {told} }}")
    path.write_text("\n".join(lines) + "\n")


def expect(bug, wanted, program, simulations, seeds):
    """Runs seeds until one of these invariants fails. A bug often breaks other invariants too, in
    an order that depends on the seed, so the run continues after such a seed. Each simulation runs
    a few seeds before any runs many: most bugs are caught within the first ten seeds of one of
    them. Returns the seed that caught the bug, by simulation."""
    others = []
    known = [(name, seed, seed + 1) for name, seed in bug.get("seen", {}).items()
             if name in simulations]
    stages = [(name, *stage) for stage in itertools.pairwise(seeds) for name in simulations]
    for simulation, seed, end in known + stages:
        while seed < end and len(others) < MOST_OTHERS:
            invariant, found, output = simulate(program, simulation, seed, end - seed)
            if invariant in wanted:
                print(f"caught at seed {found} of {simulation}: {bug['bug']} ({invariant})")
                return {simulation: found}
            if invariant is None:
                break
            others.append(f"{invariant}, seed {found} of {simulation}\n{output}")
            seed = found + 1
    found = "\n".join(others or ["none"])
    raise Missed(f"{bug['bug']}: wanted one of {wanted} to trip, found\n{found}")


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word not in ("--seen", "--in-turn")]
    if len(words) != 1:
        sys.exit(__doc__)
    main(words[0], "--seen" in sys.argv, "--in-turn" in sys.argv)
