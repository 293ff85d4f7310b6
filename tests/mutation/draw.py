# SPDX-License-Identifier: Apache-2.0
"""Draws mutants of a commit from a seed, for a score of the behaviour that the tests would miss.
Prints JSON Lines: folder, file, line, operator, before, after, and its place in the folder's order.

    python3 tests/mutation/draw.py --commit HEAD --seed 14 --each 5 --spares 5 > mutants.jsonl

Folders have equal numbers, lines of a folder equal chances, and so have the mutants of a line. The
spares replace, in order, mutants that do not compile or whose line is gone when they are run.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "tidy"))

import cpp  # noqa: E402  # The path above comes first.
import operators  # noqa: E402

FOLDERS = ("server", "worker", "van", "ops", "collective", "scheduler", "bindings")
# Not compiled in this build: CUDA, and the stubs of features it has.
LEFT_OUT = ("ops/cuda/", "/no_")


def git(*arguments):
    return subprocess.run(["git", "-C", ROOT, *arguments], check=True, capture_output=True,
                          text=True).stdout


def sources(commit, folder):
    """The sources of a folder, without headers, which are mostly declarations."""
    names = git("ls-tree", "-r", "--name-only", commit, folder + "/").split()
    return sorted(name for name in names if name.endswith((".cc", ".py"))
                  and not any(part in name for part in LEFT_OUT))


def mutants_of(commit, path):
    """{line number: [(operator, before, after)]} of a file."""
    text = git("show", f"{commit}:{path}")
    language = "cpp" if path.endswith(".cc") else "python"
    blanked = cpp.blank(text) if language == "cpp" else operators.blank_python(text)
    found, before = {}, ""
    for number, (line, code) in enumerate(zip(text.split("\n"), blanked.split("\n")), 1):
        changes = operators.changes(line, code, before, language)
        if changes:
            found[number] = [(operator, line, after) for operator, after in changes]
        before = code if code.strip() else before
    return found


def draw(commit, seed, folder, count):
    """`count` mutants of a folder, on different lines."""
    places = {}
    for path in sources(commit, folder):
        for number, choices in mutants_of(commit, path).items():
            places[path, number] = choices
    chance = random.Random(f"{seed} {folder}")
    for order, (path, number) in enumerate(chance.sample(sorted(places), count)):
        operator, before, after = chance.choice(places[path, number])
        yield {"folder": folder, "order": order, "file": path, "line": number,
               "operator": operator, "before": before, "after": after}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--each", type=int, default=5, help="mutants of each folder")
    parser.add_argument("--spares", type=int, default=5, help="and spares of each")
    arguments = parser.parse_args()
    for folder in FOLDERS:
        for mutant in draw(arguments.commit, arguments.seed, folder,
                           arguments.each + arguments.spares):
            mutant["spare"] = mutant["order"] >= arguments.each
            print(json.dumps(mutant))


if __name__ == "__main__":
    main()
