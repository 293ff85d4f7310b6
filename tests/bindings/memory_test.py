# SPDX-License-Identifier: Apache-2.0
"""Memory of servers and workers does not grow with a job's duration (memory_worker.py), because of
size classes, and names that later wrappers reuse.
"""

import random
import unittest

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto import session  # pylint: disable=wrong-import-position
from stretto.torch.core import size_classes, wire_scope  # pylint: disable=wrong-import-position


class SizeClasses(unittest.TestCase):

    def test_pieces_hold_all_and_little_more(self):
        for elements in [*range(1, 300), *random.Random(1).sample(range(300, 10**8), 2000)]:
            for item_bytes in (1, 4, 8):
                pieces = size_classes.pieces_of(elements, item_bytes)
                room = sum(size for _, size in pieces)
                self.assertLessEqual(elements, room)
                most = elements // 16 if elements * item_bytes > 32 * 1024 else elements - 1
                self.assertLessEqual(room - elements, most, (elements, item_bytes))
                self.assertEqual(len({label for label, _ in pieces}), len(pieces))
                self.assertGreater(elements, room - pieces[-1][1])  # Only the last has spare space.

    def test_few_tensors_serve_all_sizes(self):
        most = 1 << 20
        found = {piece for elements in range(1, most, 7)
                 for piece in size_classes.pieces_of(elements, 4)}
        self.assertEqual(len(dict(found)), len(found))
        self.assertLess(len(found), 50)
        self.assertLess(sum(size for _, size in found), 2.5 * most)

    def test_cut_brings_results_to_their_place(self):
        class Declared:
            """A tensor."""

            def __init__(self, elements):
                self.bytes = 4 * elements

        elements = 10_001
        source, target = torch.arange(float(elements)), torch.zeros(elements)
        cut = size_classes.Cut.of_any_size(source, target, "name")
        memory = {tensor.data_ptr(): tensor for tensor in cut.memory}
        first = 0
        for declared, address, to, bytes_ in cut.routes(lambda _, size: Declared(size)):
            size = declared.bytes // 4
            self.assertEqual(bytes_, declared.bytes)
            if address in memory and memory[address].numel() == size:  # The last one.
                self.assertEqual(to, address)
                memory[address] += 1
            else:
                self.assertEqual(address, source.data_ptr() + 4 * first)
                self.assertEqual(to, target.data_ptr() + 4 * first)
                target[first:first + size] = source[first:first + size] + 1
            first += size
        cut.finish()
        self.assertTrue(torch.equal(target, source + 1))


class Job:
    """A session, reduced to names."""

    elastic = False


class Agreed:
    """A completed agreement."""

    def __init__(self, taken):
        self.taken = taken


class Names(unittest.TestCase):

    def setUp(self):
        self.job = Job()
        self.number = 0

    def made(self, facts=("a",), may_take=True):
        """A new wrapper's scope, and its offers."""
        self.number += 1
        scope = session.Scope("module", self.number, f"module{self.number}/")
        made = wire_scope.WireScope(scope, may_take)
        made.describe(dict.fromkeys(facts, "float32[3]"))
        return made, made.offers(self.job)

    def used(self, taken=None, rounds=2, **options):
        """A scope that has been used."""
        made, _ = self.made(**options)
        made.bind(Agreed(taken))
        self.last = made.prefix
        for _ in range(rounds):
            made.begin_round()
            made.end_round()
        return made

    def test_later_wrapper_takes_names_of_earlier(self):
        self.used().release()
        later, offers = self.made()
        later.bind(Agreed(offers[0]))
        self.assertEqual(later.prefix, "module1/")

    def test_worker_that_began_more_rounds_offers_otherwise(self):
        self.used(rounds=2).release()
        _, two = self.made()
        self.job = Job()
        self.number = 0
        self.used(rounds=3).release()
        _, three = self.made()
        self.assertFalse(set(two) & set(three))

    def test_names_that_some_worker_keeps_are_not_taken(self):
        self.used().release()
        later, _ = self.made()
        later.bind(Agreed(None))
        self.assertEqual(later.prefix, "module2/")
        _, offers = self.made()
        self.assertEqual(len(offers), 1)  # The first's, for the second is in use.

    def test_one_wrapper_at_a_time_has_them(self):
        self.used().release()
        self.made()
        self.assertEqual(self.made()[1], [])

    def test_open_round_keeps_names(self):
        made = self.used()
        made.begin_round()
        made.release()
        self.assertEqual(self.made()[1], [])

    def test_other_tensors_have_other_names(self):
        self.used().release()
        self.assertEqual(self.made(facts=("b",))[1], [])
        self.assertEqual(self.made(may_take=False)[1], [])

    def test_elastic_job_offers_nothing(self):
        self.used().release()
        self.job.elastic = True
        self.assertEqual(self.made()[1], [])

    def test_agreement_again_keeps_own_names(self):
        made = self.used()
        self.assertEqual(made.offers(self.job), [])
        made.bind(Agreed(None))
        self.assertEqual(made.prefix, "module1/")

    def test_agreement_again_keeps_taken_names(self):
        self.used().release()
        later, offers = self.made()
        later.bind(Agreed(offers[0]))
        self.assertEqual(later.prefix, "module1/")
        self.assertEqual(later.offers(self.job), offers)


class Memory(jobs.PythonTest):

    def test_two_workers_by_shared_memory(self):
        self.assert_done(self.python("memory_worker.py", servers=1, forks=False))

    def test_two_workers_over_tcp(self):
        self.assert_done(self.python("memory_worker.py", servers=1, forks=False,
                                     STRETTO_TRANSPORT="tcp"))


if __name__ == "__main__":
    unittest.main()
