# SPDX-License-Identifier: Apache-2.0
"""What must hold so that the files of a folder compile one after another, as one unit."""

import collections
import re

# Folders in which each file is a program of its own.
PROGRAMS = ("tests/e2e/", "tests/fuzz/")

_NAMESPACE = re.compile(r"^(?:inline )?namespace ?([\w:]*) ?\{$")
_END = re.compile(r"^\}\s*(//.*)?$")
_CONSTANT = re.compile(r"^(?:static |inline )*constexpr [^=({]*?\b(k\w+)(?:\[\w*\])?\s*(?:=|\{|\[)")
_CLASS = re.compile(r"^(?:class|struct|enum class|union) (\w+)\b(?!.*;\s*$)")
_FUNCTION = re.compile(r"^[A-Za-z_][\w:<>,&*\s\[\]]*?[\s&*](\w+)(\((?:[^;{]|\n)*?\))\s*"
                       r"(?:const |noexcept )*\{", re.MULTILINE)


def _unit(path):
    """The files that one library or program is made of."""
    parts = path.split("/")
    deep = parts[0] in ("tools", "tests", "examples", "observe", "bindings")
    return "/".join(parts[:2]) if deep and len(parts) > 2 else parts[0]


def _parameters(text):
    """The types of a function's parameters, as far as they tell overloads apart."""
    # A call with a value takes `const T&` as well as `T`, so the two are one.
    words = re.sub(r"\bconst |&", "", re.sub(r"\s+", " ", text.strip("()")))
    return tuple(re.sub(r" ?\b\w+( = .*)?$", "", word.strip()) for word in words.split(","))


def _unnamed(lines):
    """(first line, namespaces, text) of each run of lines in an unnamed namespace."""
    open_spaces, begin = [], None
    for number, line in enumerate(lines, 1):
        opened = _NAMESPACE.match(line)
        if opened:
            open_spaces.append(opened.group(1))
            begin = number + 1 if not opened.group(1) else begin
        elif _END.match(line) and open_spaces and "namespace" in line:
            if not open_spaces.pop():
                yield begin, tuple(open_spaces), lines[begin - 1:number - 1]


def _names(first, lines):
    """(line, what tells it from others) of what is defined there."""
    for number, line in enumerate(lines, first):
        constant, named = _CONSTANT.match(line), _CLASS.match(line)
        if constant:
            yield number, constant.group(1)
        elif named:
            yield number, named.group(1)
    text = "\n".join(lines)
    for match in _FUNCTION.finditer(text):
        if not match.group(0).startswith(("template", "class", "struct", "return", "else")):
            line = first + text[:match.start()].count("\n")
            yield line, (match.group(1), _parameters(match.group(2)))


def unnamed_names_are_one_in_a_unit(tree):
    """What two files of a folder have in unnamed namespaces has different names: the folder's files
    are compiled one after another."""
    seen, found = collections.defaultdict(dict), []
    for file in tree.cpp():
        alone = file.name.startswith("no_") or file.name.endswith("main.cc")
        if not file.name.endswith(".cc") or alone or file.path.startswith(PROGRAMS):
            continue
        for first, spaces, lines in _unnamed(file.text.split("\n")):
            for line, name in _names(first, lines):
                key = (_unit(file.path), spaces, name)
                other = seen[key].setdefault("path", file.path)
                if other != file.path:
                    text = name if isinstance(name, str) else name[0]
                    found.append(file.offence(line, f"{text} is in {other} too: one unit has both"))
    return found


RULES = (unnamed_names_are_one_in_a_unit,)
