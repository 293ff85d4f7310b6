# SPDX-License-Identifier: Apache-2.0
"""Counts marks of private dialect in text: two expressions that are rare in the field's English, in
sentences of pages, comments and docstrings. LevelDB, TensorPipe and LogCabin have 0.1 to 0.3 marks
per 1,000 words. A mark is a place to look at, not a verdict.
"""

import ast
import collections
import re

_PHRASE = re.compile(
    r"\b(anew|of late|in vain|now and then|no more|so many|so much|so long|(?:is|are) to (?:have|be"
    r"|go|come|hear)|comes? again|came again|stands? by|stood by|standing by|has all|have all|is "
    r"there|the same of|nothing else|by itself|as ever|at the most|nobody|somebody|whoever"
    r"|besides)\b", re.IGNORECASE)
_ROLE_WITHOUT_NOUN = re.compile(
    r"(?:^|[,;:.(]\s*|\b(?:of|to|by|for|with|from|and|but|than|as|that|if|is|hears?|tells?|asks?)"
    r"\s+)(?:who|whoever|whom)\s+(?:is|has|was|comes|stands|serves|waits|goes|gets|asks|joins|had"
    r"|are|have|does|sends|wants|left|connects|begins|drives|makes|gives|knows|stood|came|starts"
    r"|listens|looks|can|may|must|says|would|lost|needs|still|runs|pushed|stays|will)\b",
    re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?://[/!]?<?|\*|#)\s?(.*)")
_DIRECTIVE = re.compile(r"\s*#\s*(?:include|pragma|define|if|end|el)|#!")
_BREAK = re.compile(r"\n\s*\n|\n\s*[-*|#]|\|")
_END = re.compile(r"(?<=[.;:?!])\s+")
_FEWEST_WORDS = 4


def marks(sentence):
    """The number of marks in one sentence."""
    return len(_PHRASE.findall(sentence)) + len(_ROLE_WITHOUT_NOUN.findall(sentence))


def sentences(text):
    """The sentences of prose, blank lines and list items apart; fragments are left out."""
    for paragraph in _BREAK.split(text):
        for sentence in _END.split(re.sub(r"\s+", " ", paragraph).strip()):
            if len(sentence.split()) >= _FEWEST_WORDS:
                yield sentence


def comments(text):
    """The comments of code, a paragraph for each run of comment lines."""
    blocks, block = [], []
    for line in text.splitlines():
        match = None if _DIRECTIVE.match(line) else _COMMENT.match(line)
        if match:
            block.append(match.group(1))
        elif block:
            blocks.append(" ".join(block))
            block = []
    return "\n\n".join([*blocks, " ".join(block)])


def docstrings(text):
    """The docstrings of a Python file, a paragraph each."""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [ast.get_docstring(node) for node in ast.walk(ast.parse(text))
             if isinstance(node, kinds)]
    return "\n\n".join(doc for doc in found if doc)


def markdown(text):
    """The prose of a page: no code, no comments, links by their words."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`]*`", "X", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def prose_of(file):
    """(group, prose) of a file; ("", "") of one that has none."""
    if file.name.endswith(".md"):
        kind = re.match(r"docs/(decisions|results)/", file.path)
        return kind.group(1) if kind else "pages", markdown(file.text)
    if file.is_cpp:
        return f"comments of {file.top}", comments(file.text)
    if file.is_python:
        return "Python", docstrings(file.text) + "\n\n" + comments(file.text)
    return "", ""


def density(tree):
    """{group: (words, marks)} of pages, decisions, results, Python and the comments by folder."""
    found = collections.defaultdict(lambda: [0, 0])
    for file in tree:
        group, prose = prose_of(file)
        for sentence in sentences(prose):
            found[group][0] += len(sentence.split())
            found[group][1] += marks(sentence)
    return {group: tuple(numbers) for group, numbers in sorted(found.items())}
