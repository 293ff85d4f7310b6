# SPDX-License-Identifier: Apache-2.0
"""Bugs planted for the simulator name what there is: functions, texts, invariants, rules,
simulations. Whether they are caught takes minutes each, and is theirs to test (sim/planted).
"""

import pathlib
import sys
import tomllib
import unittest

SIM = pathlib.Path(__file__).resolve().parents[1] / "sim"
sys.path.insert(0, str(SIM))

import planted  # noqa: E402  pylint: disable=wrong-import-position


class Planted(unittest.TestCase):

    def test_every_file_names_what_there_is(self):
        files = sorted((SIM / "planted").glob("*.toml"))
        self.assertGreater(len(files), 50)
        for file in files:
            with self.subTest(file.name):
                bug = tomllib.loads(file.read_text())
                planted.check_names(bug)
                self.assertTrue(planted.plant(bug))

    def test_every_simulation_has_tests(self):
        tests = "\n".join(path.read_text() for path in SIM.rglob("*_test.cc"))
        for name in (*planted.SIMULATIONS, planted.HISTORY):
            self.assertRegex(tests, rf"TEST(_F)?\({name}, Every")

    def test_what_there_is_not_is_stale(self):
        bug = {"trips": ["no hang"], "folders": ["worker"],
               "edit": [{"function": "GroupState::begin", "find": "++begun_", "replace": "1"}]}
        planted.check_names(bug)
        self.assertEqual(list(map(str, planted.plant(bug))), ["worker/peer_state/group_state.cc"])
        for wrong, said in (({"trips": ["no hang", "no such thing"]}, "no such thing"),
                            ({"trips": ["assert: there_is_none()"]}, "there_is_none"),
                            ({"history": ["no such rule"]}, "no such rule"),
                            ({"simulation": "NoSimulation"}, "NoSimulation"),
                            ({"folders": ["nowhere"]}, "nowhere")):
            with self.assertRaisesRegex(planted.Stale, said):
                planted.check_names(bug | wrong)
        for wrong in ({"function": "GroupState::nothing"}, {"find": "++nothing"}):
            with self.assertRaisesRegex(planted.Stale, "0 places"):
                planted.plant(bug | {"edit": [bug["edit"][0] | wrong]})


if __name__ == "__main__":
    unittest.main()
