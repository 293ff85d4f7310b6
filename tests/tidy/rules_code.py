# SPDX-License-Identifier: Apache-2.0
"""Rules on C++ (and on Python where it has the same vice): size, state, time, errors, threads."""

import ast
import re

import allowed
from rules_text import MOST_FUNCTION_LINES
from source_tree import Offence

LOOP_FLOORS = ("van", "server", "worker", "rpc", "scheduler")
ENVIRONMENT_READER = "common/config/environment.cc"
VARIABLES = "common/config/variables.cc"
CONFIGURATION = "docs/CONFIGURATION.md"

_SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b|(?<![\w.])(std::|::)?sleep\s*\("
                    r"|(\.|->)detach\s*\(")
_VARIABLE = re.compile(r'"(STRETTO_[A-Z_]+[A-Z])[="]')
_ENVIRONMENT = re.compile(r"\b(secure_)?getenv\b")
_SKIPPED_TEST = re.compile(r"\b(DISABLED_\w+|GTEST_SKIP\w*)")
_SKIPPING = ("skipIf", "skipUnless", "skipTest", "SkipTest", "skipif", "expectedFailure", "xfail")
_USING_NAMESPACE = re.compile(r"\busing\s+namespace\s+([\w:]+)")
_LITERALS = re.compile(r"(std::)?([\w:]+_)?literals(::\w+)?")
_REFUSED_HEADER = re.compile(
    r"#\s*include\s*<(expected|format|source_location|print|generator|stacktrace)>")
_REFUSED_VIEW = re.compile(r"\bstd::(views|ranges::views)\b")
_BARE_FIELD = re.compile(r"\b\w*header_?(\.|->)(version|base)\b")
# They play far ends that send anything.
_MAY_BE_BARE = ("tests/van/", "tests/conformance/", "tests/fuzz/", "tests/sim/")
_STATIC = re.compile(r"\b(static|thread_local)\s+(?!const\b|constexpr\b|constinit const\b)[\w:<]")
_NO_VARIABLE = re.compile(
    r"(using|typedef|static_assert|template|extern|friend|class|struct|enum|union|namespace"
    r"|concept|explicit)\b|.*= (default|delete)$", re.DOTALL)
_CONSTANT = re.compile(r"\b(const|constexpr)\b")


def _calls(files, pattern, text):
    """Offences of code lines, comments and strings aside, that `pattern` is found in."""
    return [
        file.offence(number, text.format(match.group().strip()))
        for file in files
        for number, match in file.matches(pattern, file.code_lines)
    ]


def function_size(tree):
    """A function stops at 70 lines."""
    found = []
    for file in tree.cpp():
        for function in file.outline.functions:
            lines = function.last_line - function.line + 1
            if lines > MOST_FUNCTION_LINES:
                text = f"a function of {lines} lines; stop at {MOST_FUNCTION_LINES}"
                found.append(file.offence(function.line, text))
    return found


def environment_in_one_file(tree):
    """getenv is called in one file; all others are handed their configuration."""
    files = [f for f in tree.cpp() if f.path != ENVIRONMENT_READER]
    return _calls(files, _ENVIRONMENT, "{} outside " + ENVIRONMENT_READER)


def variables_are_listed(tree):
    """Each STRETTO_ variable that a program names is in the list of all, and in the documents."""
    files = {file.path: file for file in tree}
    if VARIABLES not in files:
        return []
    listed = set(_VARIABLE.findall(files[VARIABLES].text))
    documented = set(_VARIABLE.findall(files[CONFIGURATION].text.replace("`", '"')))
    found = [files[VARIABLES].offence(1, f"{name} is not in {CONFIGURATION}")
             for name in sorted(listed - documented)]
    for file in tree:
        if not (file.is_cpp or file.is_python) or file.path.startswith("tests/"):
            continue
        for number, line in enumerate(file.lines, 1):
            found += [file.offence(number, f"{name} is not in {VARIABLES}")
                      for name in _VARIABLE.findall(line) if name not in listed]
    return found


def no_sleep(tree):
    """Nothing sleeps, polls with a sleep, or detaches a thread."""
    files = [f for f in tree.cpp() if f.path not in allowed.SLEEPERS]
    found = _calls(files, _SLEEP, "'{}': wait for what should happen instead")
    for file in tree.python():
        if file.path not in allowed.SLEEPERS:
            found += [file.offence(node.lineno, "sleep: wait for what should happen instead")
                      for node in ast.walk(ast.parse(file.text)) if _name(node) == "sleep"]
    return found + _stale(tree, "SLEEPERS", allowed.SLEEPERS)


def _name(node):
    """`f` of a call f() or x.f()."""
    called = getattr(node, "func", None)
    return getattr(called, "attr", getattr(called, "id", None))


def _stale(tree, name, table):
    return [Offence("tests/tidy/allowed.py", 1, f"{name} names {path}, which is not there")
            for path in table if path not in tree.files]


def no_skipped_tests(tree):
    """No test is disabled or skips itself."""
    found = _calls(tree.cpp(), _SKIPPED_TEST, "{}: mend it or remove it")
    for file in tree.python():
        for node in ast.walk(ast.parse(file.text)):
            word = getattr(node, "attr", getattr(node, "id", None))
            if word in _SKIPPING or (word == "skip" and isinstance(node, ast.Attribute)):
                found.append(file.offence(node.lineno, f"{word}: mend the test or remove it"))
    return found


def no_exceptions(tree):
    """Failure is a Status; only bindings turn it into an exception."""
    files = [f for f in tree.cpp() if f.top != "bindings" and f.path not in allowed.THROWS]
    return _calls(files, re.compile(r"\bthrow\b"), "throw outside bindings/")


def no_mutable_globals(tree):
    """No variable that changes lives outside an object; main builds the parts, hands them down."""
    found = []
    for file in tree.cpp():
        places = _global_variables(file) + _static_variables(file)
        if file.path in allowed.MUTABLE_STATICS:
            if not places:
                found.append(Offence("tests/tidy/allowed.py", 1,
                                     f"MUTABLE_STATICS names {file.path}, which has none"))
        else:
            found += places
    return found + _stale(tree, "MUTABLE_STATICS", allowed.MUTABLE_STATICS)


def _global_variables(file):
    found = []
    for statement in file.outline.statements:
        top = statement.top
        is_variable = ("=" in top or "(" not in top) and len(re.findall(r"\w+", top)) > 1
        if is_variable and not _NO_VARIABLE.match(top) and not _CONSTANT.search(top):
            text = "a global that changes: " + top.split("\n")[0]
            found.append(file.offence(statement.line, text))
    return found


def _static_variables(file):
    found = []
    for function in file.outline.functions:
        for match in _STATIC.finditer(function.body):
            line = function.body_line + function.body.count("\n", 0, match.start())
            found.append(file.offence(line, "a static that changes inside a function"))
    for scope in file.outline.classes:
        for statement in scope.statements:
            if re.match(r"(inline\s+)?(static|thread_local)\b", statement.text) \
                    and "(" not in statement.top and not _CONSTANT.search(statement.top):
                text = f"a static of {scope.name} that changes"
                found.append(file.offence(statement.line, text))
    return found


def no_using_namespace(tree):
    """`using namespace std` nowhere; in a header nothing but literals."""
    found = []
    for file in tree.cpp():
        for number, match in file.matches(_USING_NAMESPACE, file.code_lines):
            header = file.name.endswith((".h", ".cuh"))
            if match.group(1) == "std" or (header and not _LITERALS.fullmatch(match.group(1))):
                found.append(file.offence(number, match.group()))
    return found


def both_compilers_take_it(tree):
    """What g++ 12 or clang 14 refuses is not used."""
    return (_calls(tree.cpp(), _REFUSED_HEADER, "{}: not in both compilers") +
            _calls(tree.cpp(), _REFUSED_VIEW, "{}: not in both compilers"))


def headers_are_read_by_views(tree):
    """`version` and `base` of a header mean something else in each kind of frame: outside van/ they
    are read and written by van/wire/frame_views.h, which names them.
    """
    files = [f for f in tree.cpp() if f.top != "van" and not f.path.startswith(_MAY_BE_BARE)]
    return _calls(files, _BARE_FIELD, "'{}': take the view of its kind, van/wire/frame_views.h")


def classes_name_their_thread(tree):
    """The comment above a class of the loop floors says whose thread may use it: 'Thread: loop.'"""
    found = []
    for file in tree.cpp(*LOOP_FLOORS):
        if not file.name.endswith(".h"):
            continue
        for scope in file.outline.classes:
            if scope.nested or _is_value(scope):
                continue
            if "Thread: " not in _comment(file, scope):
                text = f"{scope.kind} {scope.name}: no 'Thread: loop|any|user.' above it"
                found.append(file.offence(scope.line, text))
    return found


def _is_value(scope):
    """True for a struct that is only read: const methods, operators and constructors at most."""
    if not scope.methods():
        return True
    name = re.escape(scope.name)
    reading = re.compile(
        rf"\bstatic\b|\bfriend\b|\bconst\s*$|\boperator\b|^(explicit )?~?{name}\(")
    return scope.kind == "struct" and all(reading.search(m.strip()) for m in scope.methods())


def _comment(file, scope):
    """The comment lines just above a class."""
    lines, at = [], scope.line - 2
    while at >= 0 and file.lines[at].lstrip().startswith("//"):
        lines.append(file.lines[at])
        at -= 1
    return "\n".join(lines)


RULES = (function_size, environment_in_one_file, variables_are_listed, no_sleep, no_skipped_tests,
         no_exceptions, no_mutable_globals, no_using_namespace, both_compilers_take_it,
         headers_are_read_by_views, classes_name_their_thread)
