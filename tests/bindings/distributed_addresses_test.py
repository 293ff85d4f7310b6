# SPDX-License-Identifier: Apache-2.0
"""Listening addresses of torch.distributed's processes, by the addresses of their hosts on the
routes between them."""

import os
import unittest
import unittest.mock

import jobs

jobs.use_packages()

import torch.distributed as dist  # pylint: disable=wrong-import-position

from stretto import errors  # pylint: disable=wrong-import-position
from stretto.torch.distributed import (addresses,  # pylint: disable=wrong-import-position
                                       rendezvous)


class TcpStore:
    host = "10.77.0.1"


class PrefixStore:
    """A store within another store."""

    def __init__(self, store):
        self.underlying_store = store


class Addresses(unittest.TestCase):

    def test_store_of_program_names_meeting_point(self):
        with unittest.mock.patch.dict(os.environ, MASTER_ADDR="other"):
            store = PrefixStore(PrefixStore(TcpStore()))
            self.assertEqual(addresses.meeting_point(store), "10.77.0.1")

    def test_environment_names_meeting_point(self):
        with unittest.mock.patch.dict(os.environ, MASTER_ADDR="other"):
            self.assertEqual(addresses.meeting_point(PrefixStore(object())), "other")

    def test_rank_0_listens_where_other_hosts_come_by(self):
        towards = {"10.77.0.2": "10.77.0.1", "127.0.0.1": "127.0.0.1"}
        others = iter(["127.0.0.1", "10.77.0.2", "10.88.0.2"])
        with unittest.mock.patch.object(addresses, "own_address_towards", towards.get):
            self.assertEqual(addresses.listening_address("127.0.0.1", others), "10.77.0.1")
            self.assertEqual(next(others), "10.88.0.2")
            self.assertEqual(addresses.listening_address("127.0.0.1", ["127.0.0.1"]), "127.0.0.1")
            self.assertEqual(addresses.listening_address("10.77.0.9", others), "10.77.0.9")

    def test_error_names_host_and_operation(self):
        with self.assertRaisesRegex(errors.Unsupported, "^init: .* no way to 'no host', where"):
            addresses.own_address_towards("no host", "init")

    def test_ports_stand_behind_hosts(self):
        for host, text in (("10.0.0.7", "10.0.0.7:90"), ("fd00::7", "[fd00::7]:90")):
            self.assertEqual(addresses.with_port(host, 90), text)
            self.assertEqual(addresses.host_of(text), host)


class Meeting(unittest.TestCase):
    """Rank 0 reaches the rendezvous on loopback, and asks the other ranks for their addresses."""

    def begin(self, store, size=2, **variables):
        """The address that rank 0 publishes before it starts a scheduler."""
        with unittest.mock.patch.dict(os.environ, variables), unittest.mock.patch.object(
                rendezvous, "_own_address", lambda *_: "127.0.0.1"), unittest.mock.patch.object(
                rendezvous, "_start_scheduler", side_effect=OSError("no scheduler here")):
            return rendezvous._begin(store, size)

    def test_all_ranks_get_error_of_failed_rank(self):
        store = dist.HashStore()
        with unittest.mock.patch.object(rendezvous, "_own_address",
                                        side_effect=errors.Unsupported("no IPv4 address")):
            with self.assertRaisesRegex(errors.Unsupported, "no IPv4 address"):
                rendezvous._meet(store, 1, 2)
        self.assertEqual(self.begin(store), {"error": "rank 1: no IPv4 address"})

    def test_local_ranks_are_not_asked(self):
        told = self.begin(dist.HashStore(), LOCAL_WORLD_SIZE="2")
        self.assertEqual(told, {"error": "no scheduler here"})

    def test_failed_store_is_no_late_rank(self):
        store = unittest.mock.Mock()
        store.get.side_effect = RuntimeError("Connection reset by peer")
        self.assertRegex(self.begin(store)["error"], "store .* failed .*Connection reset by peer")


if __name__ == "__main__":
    unittest.main()
