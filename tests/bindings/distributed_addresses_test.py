# SPDX-License-Identifier: Apache-2.0
"""Where processes of torch.distributed listen, by the addresses of their hosts on the ways between
them."""

import os
import unittest
import unittest.mock

import jobs

jobs.use_packages()

from stretto import errors  # pylint: disable=wrong-import-position
from stretto.torch.distributed import addresses  # pylint: disable=wrong-import-position


class TcpStore:
    host = "10.77.0.1"


class PrefixStore:
    """A store within another one."""

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

    def test_error_names_address_that_is_no_ipv4(self):
        with self.assertRaisesRegex(errors.Unsupported, "uses IPv4, .* for '::1', where"):
            addresses.own_address_towards("::1")


if __name__ == "__main__":
    unittest.main()
