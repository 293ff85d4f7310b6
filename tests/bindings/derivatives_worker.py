# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of derivatives_test.py: first and second derivatives through each
exchange, compared with derivatives of the same function of all workers' values in one process.
Prints "done" if they are equal.
"""

import sys
import unittest

import torch

import stretto.horovod.torch as hvd
import stretto.torch as st
import work

ROWS = 6  # Divisible by 2 and 3 workers.


def values_of(rank):
    return (torch.arange(ROWS * 2, dtype=torch.float64).view(ROWS, 2) * 0.1 + rank + 1)


def mean(values):
    return [sum(values) / len(values)] * len(values)


def gathered(values):
    return [torch.cat(values)] * len(values)


def of_root(values):
    return [values[1].clone()] * len(values)


def swapped(values):
    pieces = [value.chunk(len(values)) for value in values]
    return [torch.cat([piece[rank] for piece in pieces]) for rank in range(len(values))]


def scattered(values):
    return list((sum(values) / len(values)).chunk(len(values)))


def with_gradients_divided(function):
    """Horovod's gradients of a gather and a broadcast are means where ours are sums."""
    def divided(values):
        part = 1 / len(values)
        return function([value * part + (value * (1 - part)).detach() for value in values])
    return divided


EXCHANGES = {
    "push_pull": (lambda value: st.push_pull(value, "a"), mean),
    "grouped_push_pull": (lambda value: st.grouped_push_pull([value], "b")[0], mean),
    "allgather": (lambda value: st.allgather(value, "c"), gathered),
    "broadcast": (lambda value: st.broadcast(value, 1, "d"), of_root),
    "alltoall": (lambda value: st.alltoall(value, name="e"), swapped),
    "reduce_scatter": (lambda value: st.reduce_scatter(value, name="f"), scattered),
    "hvd.allreduce": (hvd.allreduce, mean),
    "hvd.grouped_allreduce": (lambda value: hvd.grouped_allreduce([value])[0], mean),
    "hvd.allgather": (hvd.allgather, with_gradients_divided(gathered)),
    "hvd.broadcast": (lambda value: hvd.broadcast(value, 1), with_gradients_divided(of_root)),
    "hvd.alltoall": (hvd.alltoall, swapped),
}


def loss_of(rank, value, found):
    """The loss of one worker; none of its derivatives is constant."""
    return (rank + 1) * (found ** 3).sum() + (value ** 2).sum()


class Derivatives(unittest.TestCase):

    def expected(self, function, size):
        values = [values_of(rank).requires_grad_() for rank in range(size)]
        losses = [loss_of(rank, values[rank], found)
                  for rank, found in enumerate(function(values))]
        firsts = torch.autograd.grad(sum(losses), values, create_graph=True)
        penalty = sum((first ** 2).sum() for first in firsts)
        return firsts, torch.autograd.grad(penalty, values)

    def test_exchanges_have_second_derivatives(self):
        rank, size = st.rank(), st.size()
        for name, (exchange, function) in EXCHANGES.items():
            with self.subTest(name):
                value = values_of(rank).requires_grad_()
                loss = loss_of(rank, value, exchange(value))
                [first] = torch.autograd.grad(loss, value, create_graph=True)
                [second] = torch.autograd.grad((first ** 2).sum(), value)
                firsts, seconds = self.expected(function, size)
                torch.testing.assert_close(first, firsts[rank])
                torch.testing.assert_close(second, seconds[rank])


if __name__ == "__main__":
    hvd.init()
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
