# SPDX-License-Identifier: Apache-2.0
"""The operators of mutation testing for a line of C++ or Python. Each line is passed twice,
unchanged and with comments and strings blanked, so that only code changes. No operator changes
assertions, which are checks themselves, preprocessor lines, imports, named constants (4097 for 4096
in a limit is as good a choice), or declarations.
"""

import io
import re
import tokenize

# (name, pattern, replacement): each match in a line's code is one mutant. Clang-format and PEP 8
# put blanks around binary operators, which distinguishes `a < b` from `vector<int>`.
SHARED = (
    ("comparison", r"(?<= )<=(?= )", "<"),
    ("comparison", r"(?<= )>=(?= )", ">"),
    ("comparison", r"(?<= )<(?= )", "<="),
    ("comparison", r"(?<= )>(?= )", ">="),
    ("comparison", r"(?<= )==(?= )", "!="),
    ("comparison", r"(?<= )!=(?= )", "=="),
    ("sign", r"(?<=[\w)\]] )\+(?= )", "-"),
    ("sign", r"(?<=[\w)\]] )-(?= )", "+"),
    ("sign", r"(?<= )\+=(?= )", "-="),
    ("sign", r"(?<= )-=(?= )", "+="),
    ("extreme", r"\bmin\b(?=[(<])", "max"),
    ("extreme", r"\bmax\b(?=[(<])", "min"),
    ("constant", r"(?<![\w.'])0(?![\w.'])", "1"),
    ("constant", r"(?<![\w.'])(?:[1-9]\d*)(?![\w.'])", lambda m: str(int(m[0]) + 1)),
)
CPP = SHARED + (
    ("logic", r"(?<= )&&(?= )", "||"),
    ("logic", r"(?<= )\|\|(?= )", "&&"),
    ("truth", r"\btrue\b", "false"),
    ("truth", r"\bfalse\b", "true"),
    ("negated condition", r"(?<=\bif \()(?=[^;]*\) (?:\{|\S.*;)$)", None),
)
PYTHON = SHARED + (
    ("logic", r"(?<= )and(?= )", "or"),
    ("logic", r"(?<= )or(?= )", "and"),
    ("truth", r"\bTrue\b", "False"),
    ("truth", r"\bFalse\b", "True"),
    ("negated condition", r"(?<=\bif )(?=[^:]+:$)", None),
)
# Lines without mutants: checks of our own, and lines without behaviour.
CPP_LEFT = re.compile(r"^\s*(#|assert\(|STRETTO_CHECK|static_assert|namespace|using |"
                      r"template|friend |class |enum )"
                      r"|\barray<|\boperator\b|\bconstexpr\b.* k[A-Z]\w*\b")
PYTHON_LEFT = re.compile(r"^\s*(import |from |assert |@|def |class |_?[A-Z][A-Z_]* = )")
CPP_STATEMENT = re.compile(r"^\s+(?!return\b|break\b|continue\b|using\b|co_|delete\b)"
                           r"(?:[\w.>\-\[\]()*:]+(?:\([^{}]*\))?(?: (?:[+\-|&]?=) [^{}]*)?;"
                           r"|(?:\+\+|--)[\w.>\-]+;)$")
PYTHON_STATEMENT = re.compile(r"^\s+(?!return\b|raise\b|pass$|yield\b|break$|continue$)"
                              r"(?:[\w.\[\]]+\([^#]*\)|self\.[\w.\[\]]+ (?:[+\-|]?=) [^#]*)$")
CPP_DECLARES = re.compile(r"^\s+(?:const )?[\w:<>]+[ *&]+\w+_? ?(?:=|;|\{)")


def changes(line, code, before, language):
    """All mutants of a line as (operator, text after). `code` is the line with comments and strings
    blanked, `before` the code of the line above that has any."""
    left, operators = (CPP_LEFT, CPP) if language == "cpp" else (PYTHON_LEFT, PYTHON)
    if left.search(code) or not code.strip():
        return []
    found = []
    for name, pattern, replacement in operators:
        for match in re.finditer(pattern, code):
            if replacement is None:
                after = _negated(line, code, match.start(), language)
            else:
                text = replacement(match) if callable(replacement) else replacement
                after = line[:match.start()] + text + line[match.end():]
            if after and after != line:
                found.append((name, after))
    if _is_statement(line, code, before, language):
        indent = line[:len(line) - len(line.lstrip())]
        found.append(("dropped statement", indent + (";" if language == "cpp" else "pass")))
    return found


def _negated(line, code, start, language):
    if language == "python":
        return f"{line[:start]}not ({line[start:code.rindex(':')]}){line[code.rindex(':'):]}"
    depth = 1
    for at in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return f"{line[:start]}!({line[start:at]}){line[at:]}"
    return None


def _is_statement(line, code, before, language):
    """Whether the line is one whole statement whose loss still compiles."""
    code = code.rstrip()
    if language == "python":
        balanced = all(code.count(a) == code.count(b) for a, b in ("()", "[]", "{}"))
        return bool(PYTHON_STATEMENT.match(code)) and balanced and not line.strip().startswith('"')
    whole = not before or before.rstrip()[-1] in ";{}:"
    balanced = code.count("(") == code.count(")")
    return (whole and balanced and bool(CPP_STATEMENT.match(code))
            and not CPP_DECLARES.match(code))


def blank_python(text):
    """Python with comments and the insides of strings blanked; lines and columns stay."""
    lines = [list(line) for line in text.split("\n")]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        (first, begin), (last, end) = token.start, token.end
        for row in range(first, last + 1):
            line = lines[row - 1]
            until = end if row == last else len(line)
            for column in range(begin if row == first else 0, until):
                line[column] = '"' if token.type == tokenize.STRING else " "
    return "\n".join("".join(line) for line in lines)
