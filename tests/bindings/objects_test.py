# SPDX-License-Identifier: Apache-2.0
"""The objects that broadcast_object() supports; arbitrary bytes create no other objects."""

import argparse
import collections
import pickle
import random
import unittest

import jobs

jobs.use_packages()

import numpy  # pylint: disable=wrong-import-position
import torch

from stretto.torch.core import objects


def again(value):
    """The value after encoding and decoding."""
    return objects.decode(objects.encode(value))


class Objects(unittest.TestCase):

    def test_come_back_as_they_went(self):
        for value in (None, True, 3, -(10**30), 2.5, float("inf"), "text \u00e9", b"\x00\xff",
                      bytearray(b"x"), 1 + 2j, [1, [2, None]], (1, (2, "x")), {1, 2},
                      frozenset({3}), {"a": {1: (2.0, None)}, (1, 2): "tuple as a key"},
                      collections.OrderedDict(b=1, a=2), collections.deque([1, 2]),
                      argparse.Namespace(lr=0.1, layers=[1, 2]), torch.float16,
                      torch.device("cpu")):
            with self.subTest(repr(value)):
                self.assertEqual(again(value), value)
                self.assertIs(type(again(value)), type(value))

    def test_tensors_and_arrays(self):
        for tensor in (torch.randn(2, 3), torch.tensor(4), torch.zeros(0, 2),
                       torch.tensor([True, False]), torch.ones(3, dtype=torch.bfloat16),
                       torch.arange(6).view(2, 3).t(), torch.tensor([1 + 2j, 3j]).conj()):
            came = again({"t": tensor})["t"]
            self.assertEqual((came.dtype, came.shape), (tensor.dtype, tensor.shape))
            self.assertTrue(torch.equal(came, tensor))
        array = numpy.arange(6, dtype=">i2").reshape(3, 2)
        self.assertTrue((again(array) == array).all())
        self.assertEqual(again(numpy.float64(2.5)), 2.5)

    def test_others_are_named(self):
        with self.assertRaisesRegex(TypeError, "Objects.*cannot be broadcast"):
            objects.encode({"x": [Objects("test_others_are_named")]})

    def test_what_has_no_end_is_an_error_of_the_same_type(self):
        cyclic = []
        cyclic.append(cyclic)
        deep = []
        for _ in range(100000):
            deep = [deep]
        for value in (cyclic, deep, 10**5000):
            with self.assertRaisesRegex(TypeError, "cannot be broadcast"):
                objects.encode(value)

    def test_nothing_is_unpickled(self):
        for data in (pickle.dumps({"a": 1}), b"", b"{", b"[" * 100000, b'{"is":"os.system"}',
                     b'{"is":"tensor","dtype":"torch.float32","shape":[9],"of":""}',
                     b'{"is":"array","dtype":"O","shape":[1],"of":"00000"}',
                     b'{"is":"array","dtype":"<f8","shape":[3],"of":""}',
                     b'{"is":"tensor","dtype":"torch.int8","shape":[99999999999999],"of":""}'):
            with self.subTest(data[:40]), self.assertRaises(ValueError):
                objects.decode(data)

    def test_bytes_changed_on_the_way(self):
        choose = random.Random(1)
        good = objects.encode({"a": (1, torch.ones(3)), "b": {1, 2}, "c": numpy.ones(2)})
        for _ in range(2000):
            data = bytearray(good)
            for _ in range(choose.randint(1, 4)):
                data[choose.randrange(len(data))] = choose.randrange(256)
            try:
                objects.decode(data)
            except ValueError:
                pass  # The only permitted exception.


if __name__ == "__main__":
    unittest.main()
