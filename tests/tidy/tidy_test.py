# SPDX-License-Identifier: Apache-2.0
"""docs/STYLE.md as a test: each rule that a tool can check is one test, which names every offender
as file:line. The rules are in rules_*.py, their named exceptions in allowed.py. Run it with
`python3 tests/tidy/tidy_test.py`, or one rule with `... StyleGuide.test_floors`.
"""

import pathlib
import unittest

import rules_classes
import rules_code
import rules_prose
import rules_rooms
import rules_shape
import rules_structure
import rules_text
import rules_unity
from source_tree import Tree

RULES = (rules_structure.RULES + rules_text.RULES + rules_code.RULES + rules_classes.RULES +
         rules_shape.RULES + rules_rooms.RULES + rules_prose.RULES + rules_unity.RULES)
ROOT = pathlib.Path(__file__).resolve().parents[2]


class StyleGuide(unittest.TestCase):
    """One test a rule; the rule's docstring is the test's name in reports."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tree = Tree(ROOT)

    def check(self, rule):
        offences = sorted(rule(self.tree), key=lambda o: (o.path, o.line))
        if offences:
            listed = "\n".join(f"  {offence}" for offence in offences)
            self.fail(f"{len(offences)} offences\n{listed}")


def _test_of(rule):
    def test(self):
        self.check(rule)

    test.__doc__ = rule.__doc__
    return test


for _rule in RULES:
    setattr(StyleGuide, f"test_{_rule.__name__}", _test_of(_rule))

if __name__ == "__main__":
    unittest.main()
