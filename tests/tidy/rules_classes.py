# SPDX-License-Identifier: Apache-2.0
"""The size of each shipped class with all its bodies, and the rule that a name means one class."""

import collections
import posixpath

import allowed
import cpp
from source_tree import Offence

SHIPPED = ("common", "core", "observe", "input", "van", "ops", "collective", "checkpoint",
           "server", "worker", "rpc", "scheduler", "bindings", "tools")
LIST = "tests/tidy/allowed.py"


def _classes(tree, *tops):
    """(file, class) of each class that has a name, but for specialisations of templates."""
    for file in tree.cpp(*tops):
        for scope in file.outline.classes:
            if scope.name and not scope.name.endswith("::"):
                yield file, scope


def _home(homes, file, name):
    """Where the class is declared whose member `file` defines, of several of that name the nearest:
    in the same file, in its header, in the same folder, below the same folder of the root.
    """
    folder, stem = posixpath.split(file.path)[0], file.path.rsplit(".", 1)[0]
    nearness = (lambda path: path == file.path, lambda path: path == stem + ".h",
                lambda path: posixpath.dirname(path) == folder,
                lambda path: path.split("/")[0] == file.top)
    for is_near in nearness:
        for path in homes[name]:
            if is_near(path):
                return path, name
    return None


def class_sizes(tree):
    """{(path, name): (lines, methods, line)}: the lines of the declaration and of all members that
    are defined elsewhere; a nested class has members of its own, but stands in both declarations.
    """
    sizes, homes = {}, collections.defaultdict(list)
    for file, scope in _classes(tree, *SHIPPED):
        lines = scope.last_line - scope.line + 1
        sizes[file.path, scope.name] = [lines, len(scope.own_methods()), scope.line]
        homes[scope.name].append(file.path)
    for file in tree.cpp(*SHIPPED):
        inside = {id(f) for scope in file.outline.classes for f in scope.functions}
        for function in file.outline.functions:
            name = "" if id(function) in inside else cpp.class_of_member(function.head)
            home = _home(homes, file, name) or _home(homes, file, name.rsplit("::", 1)[-1])
            if home:
                sizes[home][0] += function.last_line - function.line + 1
    return {key: tuple(size) for key, size in sizes.items()}


def class_names(tree):
    """No two classes share a name, whatever their folder and namespace; nested ones may, and the
    declarations of one class in NAME.cc and no_NAME.cc."""
    homes = collections.defaultdict(list)
    for file, scope in _classes(tree, *SHIPPED):
        if not scope.nested and not file.name.startswith("no_"):
            homes[scope.name].append((file.path, scope.line))
    found = []
    for name, places in homes.items():
        permitted = allowed.NAMESAKES.get(name, 1)
        if len(places) > permitted:
            also = ", ".join(path for path, _ in places)
            found += [Offence(path, line, f"{len(places)} classes are named {name}: {also}")
                      for path, line in places]
        elif len(places) < permitted or (name in allowed.NAMESAKES and permitted < 2):
            found.append(Offence(LIST, 1, f"NAMESAKES permits {permitted} classes named {name}, "
                                          f"there are {len(places)}"))
    return found + [Offence(LIST, 1, f"NAMESAKES names {name}, which is no class")
                    for name in allowed.NAMESAKES if name not in homes]


RULES = (class_names,)
