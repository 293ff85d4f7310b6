# SPDX-License-Identifier: Apache-2.0
"""Rules on text in every language: licence, first words, width, links, leftovers."""

import ast
import posixpath
import re

MOST_FILE_LINES = 500
MOST_FUNCTION_LINES = 70
MOST_COLUMNS = 100
LICENCE = "SPDX-License-Identifier: Apache-2.0"
# Roots that any machine has, and those that stand for "somewhere".
COMMON_ROOTS = set("bin boot dev etc lib lib64 opt proc run sbin sys tmp usr var".split())
PLACEHOLDER_ROOTS = set("no nonexistent path prefix somewhere where".split())

# Phrases forbidden in documents and public headers, with the term of the field.
_TERMS = {re.compile(r"\bunder\s+way\b", re.IGNORECASE): "in flight",
          re.compile(r"\bhand(s|ed|ing)?\s+over\b", re.IGNORECASE): "submit"}
_LEFTOVER = re.compile(r"\b(" + "|".join(("TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK")) + r")\b")
_SUPPRESSION = re.compile(r"\bNO" r"LINT(NEXTLINE|BEGIN)?\b(?!(\([^)]*\))?: \S)")
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)(?:\s+\"[^\"]*\")?\)")
_AT_COMMIT = re.compile(r"can be built and run at commit [0-9a-f]{7,40}\b")
_COMMAND = re.compile(r"(?<![\w/.-])(?:\./)?(tools/[\w./-]*\w)")
# A reader that may exit before the end of its input.
_LEAVES_EARLY = re.compile(r"\|\s*(head\b|grep\s+(-\w*[qm]|--quiet\b))")
_ABSOLUTE = re.compile(r"(?<![\w.$)}\]>~:/*?%^\\-])/([A-Za-z][\w.-]+)/(?=[\w.])")


def licence_line(tree):
    """The first line (after a script's #!) is the SPDX line."""
    found = []
    for file in tree:
        at = 1 if file.is_script else 0
        if file.is_source and LICENCE not in "".join(file.lines[at:at + 1]):
            found.append(file.offence(at + 1, f"the first line must say {LICENCE}"))
    return found


def opening_comment(tree):
    """After the licence a file says what it is and why it exists."""
    found = []
    for file in tree:
        if file.is_cpp or file.name.endswith(".proto"):
            opens = re.compile(r"//+ *\S")
        elif file.is_python or file.is_shell:
            opens = re.compile(r'(# *|""")\S')
        else:
            continue
        at = 2 if file.is_script else 1
        if not opens.match("".join(file.lines[at:at + 1])):
            found.append(file.offence(at + 1, "no comment that says what this file is"))
    return found


def file_size(tree):
    """A file stops at 500 lines."""
    return [
        file.offence(len(file.lines), f"{len(file.lines)} lines; a file stops at {MOST_FILE_LINES}")
        for file in tree if file.is_source and len(file.lines) > MOST_FILE_LINES
    ]


def line_width(tree):
    """A line of code stops at 100 columns."""
    return [
        file.offence(number, f"{len(line)} columns; a line stops at {MOST_COLUMNS}")
        for file in tree if file.is_source
        for number, line in enumerate(file.lines, start=1) if len(line) > MOST_COLUMNS
    ]


def document_width(tree):
    """A line of a document stops at 100 columns, except tables, code, and unbreakable text: one
    link, one piece of code."""
    found = []
    for file in tree.markdown():
        for number, line in _outside_fences(file):
            whole = re.sub(r"`[^`]*`", "x", _LINK.sub("x", line)).strip()
            if (len(line) > MOST_COLUMNS and not line.lstrip().startswith("|") and
                    re.search(r"\s", re.sub(r"^([-*>]|\d+\.) ", "", whole))):
                text = f"{len(line)} columns; a line stops at {MOST_COLUMNS}"
                found.append(file.offence(number, text))
    return found


def python_functions(tree):
    """A Python function stops at 70 lines, as a C++ one does."""
    found = []
    for file in tree.python():
        for node in ast.walk(ast.parse(file.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                lines = node.end_lineno - node.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    text = f"{node.name} has {lines} lines; stop at {MOST_FUNCTION_LINES}"
                    found.append(file.offence(node.lineno, text))
    return found


def field_terms(tree):
    """Documents and public headers use the field's terms: in flight, submit."""
    found = []
    for file in tree:
        if file.path == "docs/STYLE.md":
            continue  # It lists them.
        lines = [""] * len(file.lines)
        if file.name.endswith(".md"):
            for number, line in _prose(file):
                lines[number - 1] = line
        elif "include/stretto" in file.path:
            lines = [re.sub(r"^\s*//+", "", line) for line in file.lines]
        text = "\n".join(lines)
        found += [file.offence(text.count("\n", 0, match.start()) + 1,
                               f"'{' '.join(match.group().split())}'; the term is '{term}'")
                  for wrong, term in _TERMS.items() for match in wrong.finditer(text)]
    return found


def leftovers(tree):
    """No notes to self: unfinished work is an issue, not a comment."""
    return [
        file.offence(number, f"'{match.group()}'") for file in tree if file.name != "LICENSE"
        for number, match in file.matches(_LEFTOVER)
    ]


def suppressions_say_why(tree):
    """A lint suppression names its check and its reason."""
    return [
        file.offence(number, f"{match.group()} wants '(check): reason'") for file in tree.cpp()
        for number, match in file.matches(_SUPPRESSION)
    ]


def links_resolve(tree):
    """Relative links in Markdown lead to files of this repository."""
    found = []
    for file in tree.markdown():
        for number, line in _prose(file):
            for target in _LINK.findall(line):
                path = target.split("#")[0]
                if not path or re.match(r"[a-z]+:", target):
                    continue
                whole = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), path))
                if whole.startswith(("..", "/")) or not tree.exists(whole):
                    found.append(file.offence(number, f"the link {target} leads nowhere"))
    return found


def _outside_fences(file):
    """(number, line) of a Markdown file without fenced code."""
    fenced = False
    for number, line in enumerate(file.lines, start=1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _prose(file):
    """(number, line) of a Markdown file without fenced code and `code`."""
    for number, line in _outside_fences(file):
        yield number, re.sub(r"`[^`]*`", "", line)


def _tells_of_then(file):
    """Decisions may mention removed files, and so may results that name their commit."""
    return file.path.startswith("docs/decisions/") or (
        file.path.startswith("docs/results/") and
        _AT_COMMIT.search(" ".join(file.text.replace("\n> ", " ").split())) is not None)


def commands_exist(tree):
    """The tools/... that documents name exist, or existed at a named commit."""
    return [
        file.offence(number, f"there is no {path}") for file in tree.markdown()
        if not _tells_of_then(file)
        for number, line in enumerate(file.lines, start=1)
        for path in _COMMAND.findall(line) if not tree.exists(path)
    ]


def no_private_paths(tree):
    """Text names no folder that only one machine has."""
    own = str(tree.root) + "/"
    known = COMMON_ROOTS | PLACEHOLDER_ROOTS
    found = []
    for file in tree:
        for number, line in enumerate(file.lines, start=1):
            for match in _ABSOLUTE.finditer(line):
                if match.group(1) not in known or own in line:
                    found.append(file.offence(number, f"a path of one machine: {match.group()}"))
    return found


def scripts_are_strict(tree):
    """A bash program stops at the first error, and may be run."""
    found = []
    for file in tree:
        if file.is_script and not file.executable:
            found.append(file.offence(1, "has a #! line but may not be executed"))
        if file.is_script and file.is_shell and "set -euo pipefail" not in file.lines:
            found.append(file.offence(1, "does not say: set -euo pipefail"))
    return found


def pipes_are_read_to_their_end(tree):
    """A script's pipe has no reader that exits early: the writer then sometimes ends by SIGPIPE,
    and with pipefail the script with it.
    """
    return [file.offence(number, f"'{match.group()}' may leave before its writer: read to the end")
            for file in tree if file.is_shell
            for number, match in file.matches(_LEAVES_EARLY, file.lines)]


RULES = (licence_line, opening_comment, file_size, line_width, document_width, python_functions,
         field_terms, leftovers, suppressions_say_why, links_resolve, commands_exist,
         no_private_paths, scripts_are_strict, pipes_are_read_to_their_end)
