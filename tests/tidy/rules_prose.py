# SPDX-License-Identifier: Apache-2.0
"""Rules on English: marks of private dialect in comments and docstrings, and the names of tests.
prose.py has the expressions.
"""

import re

import allowed
import prose
from source_tree import Offence

MOST_MARKS = 1.0  # Of 1,000 words.
MOST_NAME = 45
LIST = "tests/tidy/allowed.py"

_TEST = re.compile(r"^(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*\w+,\s*(\w+)\)")
_NO_SUBJECT = re.compile(r"Who|What|Nobody|Somebody")


def dialect(tree):
    """Each kind of text has at most 1.0 marks of dialect in 1,000 words; the list only shrinks."""
    found, listed = [], dict(allowed.DIALECT)
    for group, (words, marks) in prose.density(tree).items():
        density = 1000 * marks / words
        most = listed.pop(group, MOST_MARKS)
        if density > most:
            text = (f"{group}: {density:.1f} marks in 1,000 words, wanted at most {most}; see "
                    "tests/tidy/report.py --marks")
            found.append(Offence(LIST, 1, text))
        elif most > MOST_MARKS and density < most - 1:
            found.append(Offence(LIST, 1, f"DIALECT permits {group} {most} marks, it has "
                                          f"{density:.1f}"))
    return found + [Offence(LIST, 1, f"DIALECT names {group}, which is no kind of text")
                    for group in listed]


def test_names(tree):
    """A test's name has a subject, and at most 45 characters."""
    found = []
    for file in tree.cpp("tests"):
        for line, match in file.matches(_TEST):
            name = match.group(1)
            if len(name) > MOST_NAME:
                found.append(file.offence(line, f"{name} has {len(name)} characters, wanted at "
                                                f"most {MOST_NAME}"))
            if _NO_SUBJECT.search(name):
                found.append(file.offence(line, f"{name}: name the subject"))
    return found


RULES = (dialect, test_names)
