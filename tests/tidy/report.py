#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what the style guide watches without a limit: the fullest folders, cycles of folders, the
classes with the most lines, methods, members, references and callbacks, marks of dialect by kind of
text, long commit subjects, and lines of code.

Usage: report.py [CHECKOUT]
       report.py --marks [PATH]...   the sentences with marks in files whose path begins so
       report.py --draw SEED NUMBER  so many comments of code, drawn at random from the seed
"""

import collections
import pathlib
import posixpath
import random
import re
import subprocess
import sys

import prose
import rules_classes
import rules_rooms
import rules_shape
from source_tree import Tree

MOST_SUBJECT_COLUMNS = 72
SUBJECTS = 50
ROWS = 8


def _row(name, items):
    print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in items))


def _folders(tree):
    sources = [f.path for f in tree if (f.is_cpp or f.is_python)
               and f.top not in ("tests", "examples", "")]
    crowd = collections.Counter(posixpath.dirname(path) for path in sources)
    _row("fullest folders", crowd.most_common(ROWS))
    edges = collections.defaultdict(set)
    for _, _, own, other in rules_rooms.dependencies(tree):
        edges[own].add(other)
    found = rules_rooms.cycles(edges)
    print(f"cycles of folders: {len(found)}")
    for members in found:
        print("  " + ", ".join(sorted(members)))


def _classes(tree):
    sizes = rules_classes.class_sizes(tree)
    for at, kind in enumerate(("lines", "methods")):
        most = sorted(sizes.items(), key=lambda item: -item[1][at])[:ROWS]
        _row(f"classes by {kind}", ((name, size[at]) for (_, name), size in most))
    shapes = rules_shape.shapes(tree)
    for kind in rules_shape.MOST:
        most = sorted(shapes.items(), key=lambda item: -item[1][0][kind])[:ROWS]
        _row(f"classes by {kind}", ((key.split(":", 1)[1], numbers[kind])
                                    for key, (numbers, _) in most))


def _prose(tree):
    for group, (words, marks) in prose.density(tree).items():
        print(f"{group:24} {words:7} words {1000 * marks / words:6.1f} marks per 1,000")
    names = [name for file in tree.cpp("tests")
             for name in re.findall(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)\)", file.text, re.MULTILINE)]
    odd = sum(bool(re.search(r"Who|What|Nobody|Somebody", name)) for name in names)
    long = sum(len(name) > 45 for name in names)
    print(f"test names: {len(names)}; with Who, What, Nobody, Somebody: {odd}; over 45 "
          f"characters: {long}")


def _subjects(root):
    listed = subprocess.run(["git", "-C", root, "log", f"-{SUBJECTS}", "--no-merges",
                             "--format=%s"], stdout=subprocess.PIPE, text=True, check=True).stdout
    long = [subject for subject in listed.splitlines() if len(subject) > MOST_SUBJECT_COLUMNS]
    print(f"last {SUBJECTS} commit subjects: {len(long)} over {MOST_SUBJECT_COLUMNS} columns")
    for subject in long:
        print("  " + subject)


def _sentences(tree, paths):
    for file in tree:
        if file.path.startswith(tuple(paths) or ""):
            for sentence in prose.sentences(prose.prose_of(file)[1]):
                if prose.marks(sentence):
                    print(f"{file.path}: {sentence}")


def _draw(tree, seed, number):
    texts = [(file.path, text) for file in tree if file.is_cpp or file.is_python
             for text in prose.prose_of(file)[1].split("\n\n") if len(text.split()) > 3]
    for path, text in random.Random(seed).sample(texts, number):
        print(f"{path}: {text}\n")


def _lines(tree):
    lines = collections.Counter()
    for file in tree:
        kind = file.top if file.top in ("tests", "examples", "docs", "experiments") else "product"
        lines[kind] += len(file.lines)
    _row("lines", sorted(lines.items()))


def main(root):
    tree = Tree(root)
    _folders(tree)
    _classes(tree)
    _prose(tree)
    _subjects(root)
    _lines(tree)


if __name__ == "__main__":
    own = pathlib.Path(__file__).resolve().parents[2]
    if sys.argv[1:2] == ["--marks"]:
        _sentences(Tree(own), sys.argv[2:])
    elif sys.argv[1:2] == ["--draw"]:
        _draw(Tree(own), *map(int, sys.argv[2:4]))
    else:
        main(sys.argv[1] if len(sys.argv) > 1 else own)
