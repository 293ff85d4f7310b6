# SPDX-License-Identifier: Apache-2.0
"""Backend "stretto" where PyTorch was built without libuv, as Debian's is."""

import os
import unittest
from unittest import mock

import jobs

jobs.use_packages()

import torch.distributed as dist  # pylint: disable=wrong-import-position

from stretto import doctor  # pylint: disable=wrong-import-position
from stretto.torch.distributed import libuv  # pylint: disable=wrong-import-position

REFUSED = RuntimeError("use_libuv was requested but PyTorch was build without libuv support")


class Libuv(unittest.TestCase):

    def chosen(self, effect, **variables):
        """What USE_LIBUV is after the choice, where a TCPStore with libuv ends so."""
        with mock.patch.dict(os.environ, variables), \
                mock.patch.object(dist, "TCPStore", side_effect=effect):
            if not variables:
                os.environ.pop("USE_LIBUV", None)
            libuv.do_without()
            return os.environ.get("USE_LIBUV")

    def test_backend_does_without_missing_libuv(self):
        self.assertEqual(self.chosen(REFUSED), "0")

    def test_users_choice_stays(self):
        self.assertEqual(self.chosen(REFUSED, USE_LIBUV="1"), "1")

    def test_variable_is_not_set_without_need(self):
        for effect in (None, TypeError("PyTorch 1"), RuntimeError("no port is free")):
            self.assertIsNone(self.chosen(effect), effect)

    def test_doctor_reports_missing_libuv(self):
        for variables, effect, said in ((dict(USE_LIBUV="0"), REFUSED, "note .*without libuv.*=0"),
                                        (dict(USE_LIBUV="1"), REFUSED, "BAD .*unset it"),
                                        ({}, RuntimeError("no port"), r"BAD .*\(no port\)"),
                                        ({}, None, "ok .*can make a TCPStore")):
            with mock.patch.dict(os.environ, variables), \
                    mock.patch.object(dist, "TCPStore", side_effect=effect):
                [finding] = doctor.store()
            self.assertRegex(str(finding), said)


if __name__ == "__main__":
    unittest.main()
