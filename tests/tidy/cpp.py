# SPDX-License-Identifier: Apache-2.0
"""Reads as much of C++ as the style rules need: comments and strings away, then an outline of
functions, classes and statements by matching braces. It trusts that the code compiles.
"""

import re
from dataclasses import dataclass, field

_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/'  # Comments.
    r'|R"(?P<tag>[^\s()\\]{0,16})\(.*?\)(?P=tag)"'  # Raw strings.
    r'|"(?:\\.|[^"\\\n])*"'  # Strings.
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",  # Characters; not the ' in 1'000.
    re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_ATTRIBUTE = re.compile(r"\[\[.*?\]\]", re.DOTALL)
_ACCESS = re.compile(r"\s*(public|private|protected)\s*")
_OPERATOR = re.compile(r"\boperator\s*[^\s\w(]+|[<>=!]=")
_CALL_OPERATOR = re.compile(r"\boperator\s*\(\s*\)")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_NO_MEMBER = re.compile(r"\s*(friend|static_assert|using|typedef)\b")
_ANNOTATION = re.compile(r"\b[A-Z][A-Z_]+\s*\([^()]*\)")
_NO_DATA = re.compile(r"\s*(?:inline\s+)?(?:static|constexpr|using|typedef|friend|template|enum"
                      r"|static_assert|(?:class|struct|union)\s+\w+$)")
_DATA = re.compile(r"[\w>&*]\s*[&*]?\s*\w+$")
_INITIALISER = re.compile(r"\s*(?:=.*|\{\s*\}|\[[^\]]*\])$", re.DOTALL)
_SPECIFIER = r"(const|noexcept(\(\))?|override|final|volatile|&&?|= 0)"
_DECLARED = re.compile(rf"\w\s*\(\)\s*({_SPECIFIER}\s*|->[^=]*)*$")
_MEMBER = re.compile(r"((?:\w+(?:<[^()]*>)?\s*::\s*)+)(?:~?\w+|operator\b\s*[^\s\w(]*)\s*\(")


def _spaces(text):
    return re.sub(r"[^\n]", " ", text)


def blank(text):
    """`text` with comments, and what stands inside quotes, turned into spaces."""

    def replace(match):
        token = match.group()
        if token[0] == "/":
            return _spaces(token)
        return token[0] + _spaces(token[1:-1]) + token[-1]

    return _TOKEN.sub(replace, text)


@dataclass
class Statement:
    """What ends with a semicolon outside functions."""

    line: int
    text: str

    @property
    def top(self):
        return top_level(self.text)


@dataclass
class Function:
    """A function with its body. Lines count from the first of its head to the closing brace."""

    line: int
    last_line: int
    head: str
    body: str
    body_line: int


@dataclass
class Class:
    """A class, struct or union with its body. Lines count from its head to the closing brace."""

    line: int
    kind: str
    name: str  # With those of the classes around it: Van::Link.
    nested: bool
    last_line: int = 0
    statements: list = field(default_factory=list)
    functions: list = field(default_factory=list)

    def methods(self):
        """Heads of the functions declared or defined in it, without attributes."""
        declared = [s.text for s in self.statements
                    if "(" in s.text and "=" not in _before_paren(s)]
        return [_ATTRIBUTE.sub("", head) for head in declared + [f.head for f in self.functions]]

    def own_methods(self):
        """Heads of its member functions, but for those that are defaulted or deleted."""
        declared = [s.text for s in self.statements if _declares_function(s.text)]
        heads = declared + [function.head for function in self.functions]
        return [head for head in heads if not _NO_MEMBER.match(_without_template(head))]

    def data_members(self):
        """Declarations of its own data, one each, without annotations and initialisers."""
        kept = [s.text for s in self.statements
                if not _NO_DATA.match(s.text) and not _declares_function(s.text)]
        plain = [_INITIALISER.sub("", top_level(_ANNOTATION.sub("", text))).strip()
                 for text in kept]
        return [text for text in plain if _DATA.search(text)]


@dataclass
class Outline:
    """Everything outside functions, and the functions."""

    statements: list = field(default_factory=list)  # At namespace scope.
    functions: list = field(default_factory=list)  # All, methods too.
    classes: list = field(default_factory=list)


def _before_paren(statement):
    return _OPERATOR.sub("", _without_template(statement.text)).split("(", 1)[0]


def _without_template(head):
    """`head` without a leading `template <...>`."""
    match = re.match(r"\s*template\s*<", head)
    if not match:
        return head
    depth, at = 1, match.end()
    while at < len(head) and depth:
        depth += {"<": 1, ">": -1}.get(head[at], 0)
        at += 1
    return _without_template(head[at:])


def _declares_function(text):
    """True for `int f(int) const`, not for `int f_ GUARDED_BY(m)` or `function<void()> f_`."""
    text = _CALL_OPERATOR.sub("operator ", _ANNOTATION.sub("", text))
    return _DECLARED.search(top_level(text)) is not None


def class_of_member(head):
    """`Van::Link` of `Status Van::Link::send(int)`; "" for a function that is no member."""
    match = _MEMBER.search(_OPERATOR.sub("operator ", _CALL_OPERATOR.sub(
        "operator ", _without_template(head))))
    return re.sub(r"<[^()]*>|\s", "", match.group(1))[:-2] if match else ""


def top_level(head):
    """`head` without template parameters, attributes, and what stands in parentheses or braces."""
    text = _OPERATOR.sub(" operator ", _ATTRIBUTE.sub(" ", _without_template(head)))
    out, at = [], 0
    while at < len(text):
        out.append(text[at])
        if text[at] in _PAIRS:
            at = _closing(text, at)
            out.append(text[at:at + 1])
        at += 1
    return "".join(out).strip()


def _closing(code, at):
    """Where the bracket that opens at `at` is closed; the end if it is not."""
    stack = []
    for i in range(at, len(code)):
        if code[i] in _PAIRS:
            stack.append(_PAIRS[code[i]])
        elif stack and code[i] == stack[-1]:
            stack.pop()
            if not stack:
                return i
    return len(code) - 1


def _class_of(top):
    """(kind, name) if the head opens a class, else None."""
    match = re.match(r"(?:(?:typedef|static|inline|constexpr)\s+)*(class|struct|union)\b(.*)",
                     top, re.DOTALL)
    if not match:
        return None
    name = re.split(r"(?<!:):(?!:)", match.group(2))[0]
    words = [w for w in re.findall(r"[\w:]+", re.sub(r"\(\)", " ", name)) if w != "final"]
    return match.group(1), words[-1] if words else ""


class _Scanner:
    """One pass over the code; bodies of functions are skipped, for their size and text only."""

    def __init__(self, code):
        self.code = _DIRECTIVE.sub(lambda m: _spaces(m.group()), code)
        self.out = Outline()
        self.scopes = []  # A Class, or None for a namespace.
        self.head = 0

    def run(self):
        at = 0
        while at < len(self.code):
            at = self._take(at) + 1
        return self.out

    def _take(self, at):
        c = self.code[at]
        if c in "([":
            return _closing(self.code, at)
        if c == "{":
            return self._open(at)
        if c == "}":
            if self.scopes:
                closed = self.scopes.pop()
                if closed:
                    closed.last_line = self._line(at)
            self.head = at + 1
        elif c == ";":
            self._statement(at)
        elif c == ":" and _ACCESS.fullmatch(self.code[self.head:at]):
            self.head = at + 1
        return at

    def _line(self, at):
        return self.code.count("\n", 0, at) + 1

    def _head_line(self):
        skipped = re.match(r"\s*", self.code[self.head:]).end()
        return self._line(self.head + skipped)

    def _statement(self, at):
        text = self.code[self.head:at].strip()
        if text:
            statement = Statement(self._head_line(), text)
            scope = self.scopes[-1] if self.scopes else None
            (scope.statements if scope else self.out.statements).append(statement)
        self.head = at + 1

    def _open(self, at):
        head = self.code[self.head:at]
        top = top_level(head)
        if re.match(r"(inline\s+)?namespace\b", top) or re.fullmatch(r'extern\s+"\s*"', top):
            self.scopes.append(None)
            self.head = at + 1
            return at
        opened = _class_of(top)
        if opened:
            self._open_class(*opened)
            self.head = at + 1
            return at
        if re.match(r"(typedef\s+)?enum\b", top) or not self._is_function(top):
            return _closing(self.code, at)  # An initialiser: the head goes on after it.
        return self._function(head, at)

    @staticmethod
    def _is_function(top):
        if "(" not in top or "=" in top:
            return False
        initialisers = re.search(r"\)[^:]*(?<!:):(?!:)", top)
        return not (initialisers and re.search(r"[\w>]$", top))

    def _open_class(self, kind, name):
        outer = next((scope for scope in reversed(self.scopes) if scope), None)
        nested = outer is not None or "::" in name
        opened = Class(self._head_line(), kind, f"{outer.name}::{name}" if outer else name, nested)
        self.out.classes.append(opened)
        self.scopes.append(opened)

    def _function(self, head, at):
        end = _closing(self.code, at)
        function = Function(self._head_line(), self._line(end), head.strip(),
                            self.code[at:end + 1], self._line(at))
        self.out.functions.append(function)
        if self.scopes and self.scopes[-1]:
            self.scopes[-1].functions.append(function)
        self.head = end + 1
        return end


def outline(code):
    """The outline of code that blank() has been through."""
    return _Scanner(code).run()
