# SPDX-License-Identifier: Apache-2.0
"""Limits on a class's data members, references and callbacks. allowed.py lists the classes over a
limit with their numbers, which may only shrink.
"""

import re

import allowed
from rules_classes import SHIPPED
from source_tree import Offence

LIST = "tests/tidy/allowed.py"
MOST = {"data members": 12, "references": 6, "callbacks": 10}

_FUNCTION_ALIAS = re.compile(r"\busing\s+(\w+)\s*=\s*(?:std::)?function\s*<")
_REFERENCE = re.compile(r"&\s*\w+$")


def _callback_pattern(tree):
    """Matches a member whose type is std::function or an alias of it in the shipped code."""
    names = {name for file in tree.cpp(*SHIPPED) for name in _FUNCTION_ALIAS.findall(file.code)}
    return re.compile(r"\bfunction\s*<" + "".join(rf"|\b{name}\s+\w+$" for name in sorted(names)))


def _shape(scope, callback):
    """{kind: number} of one class. A struct holds values, so its data members are not limited."""
    members = scope.data_members()
    return {"data members": len(members) if scope.kind == "class" else 0,
            "references": sum(bool(_REFERENCE.search(member)) for member in members),
            "callbacks": sum(bool(callback.search(member)) for member in members)}


def shapes(tree):
    """{"path:Class": ({kind: number}, line)} of each named class of the shipped code."""
    callback = _callback_pattern(tree)
    return {f"{file.path}:{scope.name}": (_shape(scope, callback), scope.line)
            for file in tree.cpp(*SHIPPED) for scope in file.outline.classes
            if scope.name and not scope.name.endswith("::")}


def class_shape(tree):
    """A class has at most 12 data members, 6 references and 10 callbacks; the list only shrinks."""
    found, listed = [], dict(allowed.CLASS_SHAPES)
    for key, (numbers, line) in shapes(tree).items():
        path, name = key.split(":", 1)
        most = {**MOST, **listed.pop(key, {})}
        for kind, number in numbers.items():
            if number > most[kind]:
                found.append(Offence(path, line, f"class {name} has {number} {kind}; stop at "
                                                 f"{most[kind]}"))
            elif most[kind] > max(number, MOST[kind]):
                found.append(Offence(LIST, 1, f"CLASS_SHAPES permits {key} {most[kind]} {kind}; "
                                              f"the class has {number}"))
    return found + [Offence(LIST, 1, f"CLASS_SHAPES names {key}, which is not there")
                    for key in listed]


RULES = (class_shape,)
