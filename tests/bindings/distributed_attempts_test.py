# SPDX-License-Identifier: Apache-2.0
"""Rendezvous of torch.distributed's ranks in a store with keys of earlier attempts."""

import concurrent.futures
import threading
import unittest

import jobs

jobs.use_packages()

import torch.distributed as dist  # pylint: disable=wrong-import-position

from stretto import errors  # pylint: disable=wrong-import-position
from stretto.torch.distributed import attempts  # pylint: disable=wrong-import-position


class Attempts(unittest.TestCase):

    def setUp(self):
        self.store = dist.HashStore()
        self.pool = self.enterContext(concurrent.futures.ThreadPoolExecutor())

    def start(self, rank, size=2):
        """The store of an attempt that a rank begins."""
        return self.pool.submit(attempts.store_of_attempt, self.store, rank, size,
                                jobs.TORCH_PATIENCE, "init")

    def assert_one_attempt(self, *starts):
        """All ranks got one store, which had none of the test's keys."""
        stores = [start.result() for start in starts]
        self.assertEqual([store.add("uses", 1) for store in stores],
                         list(range(1, 1 + len(stores))))

    def test_restarted_ranks_get_new_store(self):
        self.assert_one_attempt(*map(self.start, (0, 1)))
        self.assert_one_attempt(*map(self.start, (1, 0)))
        self.assert_one_attempt(*(self.start(rank, 3) for rank in (2, 0, 1)))

    def test_rank_0_answers_rank_behind_stale_nonce(self):
        answered = threading.Event()

        class Store:
            """The store, which signals that rank 0 has answered a nonce."""

            def __getattr__(_, name):  # pylint: disable=no-self-argument
                return getattr(self.store, name)

            def set(_, key, value):  # pylint: disable=no-self-argument
                self.store.set(key, value)
                answered.set()

        attempts._append(self.store, {"rank": 1, "nonce": "of a rank that ended"})
        announced = self.pool.submit(attempts._announce, Store(), 2, jobs.TORCH_PATIENCE, "init")
        self.assertTrue(answered.wait(jobs.TORCH_PATIENCE))
        asked = self.pool.submit(attempts._ask, self.store, 1, "init")
        self.assertEqual(announced.result(), asked.result())

    def test_timeout_names_missing_ranks(self):
        with self.assertRaisesRegex(errors.RendezvousTimeout,
                                    "^init: ranks 1, 2 have not come within 0.01 s"):
            attempts.store_of_attempt(self.store, 0, 3, 0.01, "init")


if __name__ == "__main__":
    unittest.main()
