# SPDX-License-Identifier: Apache-2.0
"""Rules on folders: which folder of an area may include which, and that no cycle of folders exists.
rooms.py has the map. C++ includes and Python imports count alike.
"""

import ast
import collections
import posixpath

import allowed
import rooms
from rules_structure import included_files
from source_tree import Offence

PYTHON_ROOT = "bindings/python/"
LIST = "tests/tidy/allowed.py"
_UNMAPPED = ("tests", "examples")


def _modules(tree):
    """{"stretto.torch.core": path} of each Python module that the bindings ship."""
    return {path.removeprefix(PYTHON_ROOT).removesuffix(".py").removesuffix("/__init__")
            .replace("/", "."): path
            for path in tree.files if path.startswith(PYTHON_ROOT) and path.endswith(".py")}


def _imported_files(file, modules):
    """(line, path) of each module that a Python file imports when it loads."""
    for node in ast.parse(file.text).body:
        names = []
        if isinstance(node, ast.Import):
            names = [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [(f"{node.module}.{alias.name}", node.module) for alias in node.names]
        for candidates in names:
            path = next((modules[name] for name in candidates if name in modules), None)
            if path:
                yield node.lineno, path


def dependencies(tree):
    """(file, line, folder, included folder) of each include and import from another folder."""
    modules = _modules(tree)
    for file in tree:
        if file.top in _UNMAPPED or not file.top:
            continue
        if file.is_cpp:
            targets = included_files(tree, file)
        elif file.path.startswith(PYTHON_ROOT) and file.is_python:
            targets = _imported_files(file, modules)
        else:
            continue
        own = posixpath.dirname(file.path)
        for line, path in targets:
            folder = posixpath.dirname(path)
            if folder != own:
                yield file, line, own, folder


def cycles(edges):
    """Strongly connected sets of more than one folder; `edges` is {folder: folders it includes}."""
    reach = {}
    for start in edges:
        seen, open_folders = set(), [start]
        while open_folders:
            for target in edges.get(open_folders.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    open_folders.append(target)
        reach[start] = seen
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) | {a}
             for a in reach if a in reach[a]}
    return sorted((members for members in found if len(members) > 1), key=sorted)


def room_dependencies(tree):
    """A room includes only the rooms of its area that the map permits."""
    found = []
    for file, line, own, other in dependencies(tree):
        area = rooms.area_of(own)
        if area is None or area != rooms.area_of(other):
            continue
        if own not in rooms.ROOMS:
            found.append(file.offence(line, f"{own}/ is not in tests/tidy/rooms.py"))
        elif other not in rooms.ROOMS[own]:
            found.append(file.offence(line, f"{own}/ must not include from {other}/"))
    folders = {posixpath.dirname(path) for path in tree.files}
    return found + [Offence("tests/tidy/rooms.py", 1, f"{room}/ is not there")
                    for room in rooms.ROOMS if room not in folders]


def folder_cycles(tree):
    """No folders include one another, on whatever way; today's cycles are listed and shrink."""
    edges, places = collections.defaultdict(set), {}
    for file, line, own, other in dependencies(tree):
        edges[own].add(other)
        places.setdefault((own, other), file.offence(line, ""))
    found, listed = [], {frozenset(members) for members in allowed.FOLDER_CYCLES}
    present = cycles(edges)
    for members in present:
        if members not in listed:
            place = min((p for (a, b), p in places.items() if {a, b} <= members),
                        key=lambda p: (p.path, p.line))
            found.append(Offence(place.path, place.line,
                                 "folders include one another: " + ", ".join(sorted(members))))
    return found + [Offence(LIST, 1, f"FOLDER_CYCLES names {sorted(members)}, which is no cycle")
                    for members in listed - set(present)]


RULES = (room_dependencies, folder_cycles)
