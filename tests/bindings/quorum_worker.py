# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of quorum_test.py: steps that do not wait for stragglers. Prints
"done" on success.
"""

import os
import pathlib
import sys
import unittest

import torch
from torch import nn

import stretto.torch as st
import work

STEPS = 30
# At step LATE the last worker waits until the others have reached LATE + 2.
LATE = 20


def perceptron():
    """The same at each rank."""
    torch.manual_seed(5)
    return nn.Sequential(nn.Linear(12, 60), nn.Tanh(), nn.Linear(60, 3))


def meet(step):
    """At step LATE the last worker waits for the others, at pipes: opened at one end, they open at
    the other."""
    pipes, last = pathlib.Path(os.environ["MEET"]), st.size() - 1
    if st.rank() == last and step == LATE:
        for rank in range(last):
            (pipes / f"{rank}").open("rb").close()
    elif st.rank() != last and step == LATE + 2:
        (pipes / f"{st.rank()}").open("wb").close()


class Quorums(unittest.TestCase):

    def train(self, exchange, data, is_late):
        """The weights after a plain loop, and the losses."""
        model = perceptron()
        optimizer = st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.05),
                                            model.named_parameters(), exchange=exchange)
        losses = []
        for step in range(STEPS):
            if is_late:
                meet(step)
            generator = torch.Generator().manual_seed(1000 * step + data)
            inputs = torch.randn(8, 12, generator=generator)
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(inputs), inputs[:, :3] * 2 - 1)
            loss.backward()
            optimizer.step()
            losses.append(float(loss))
        return torch.cat([each.detach().reshape(-1) for each in model.parameters()]), losses

    def assert_alike(self, found):
        for row in st.allgather(found.view(1, -1)):
            self.assertTrue(torch.equal(row, found), "the workers' weights differ")

    def test_steps_do_not_wait_for_who_is_late(self):
        found, losses = self.train(st.Quorum(st.size() - 1), st.rank(), is_late=True)
        self.assert_alike(found)
        self.assertLess(sum(losses[-5:]), 0.8 * sum(losses[:5]))

    def test_what_is_late_may_stay_with_its_worker_or_be_dropped(self):
        for late in ("own", "drop"):
            found, losses = self.train(st.Quorum(2, late=late), st.rank(), is_late=False)
            self.assert_alike(found)
            self.assertLess(sum(losses[-5:]), 0.8 * sum(losses[:5]), late)

    def test_of_workers_with_the_same_data_one_counts(self):
        if st.size() % 2 == 0:
            data = st.rank() % (st.size() // 2)
            found, _ = self.train(st.Backups(), data, is_late=False)
            self.assert_alike(found)
            expected, _ = self.train("direct", data, is_late=False)
            self.assertTrue(torch.allclose(found, expected, rtol=1e-4, atol=1e-6))

    def test_means_are_over_what_is_in(self):
        for _ in range(20):
            mean = st.push_pull_async(torch.full((7,), 6.0), "mean", exchange=st.Quorum(2)).wait()
            self.assertEqual(mean.tolist(), [6.0] * 7)

    def test_what_cannot_be_is_refused_at_once(self):
        model = perceptron()
        for words, options in (
                (f"this job has {st.size()}", {"exchange": st.Quorum(4000)}),
                ("wants a multiple of 8 workers", {"exchange": st.Backups(7)}),
                ("is for mode 'sync', this is 'eager'",
                 {"exchange": st.Quorum(2), "mode": "eager"})):
            with self.assertRaisesRegex(ValueError, words):
                st.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                        model.named_parameters(), **options)
        with self.assertRaisesRegex(ValueError, "local steps wait for all"):
            st.LocalSteps(torch.optim.SGD(model.parameters(), lr=0.1), every=4,
                          named_parameters=model.named_parameters(), exchange=st.Quorum(2))
        with self.assertRaisesRegex(ValueError, "late is 'never', wanted next, own or drop"):
            st.Quorum(2, late="never")
        for workers in (0, 2.5, True):
            with self.assertRaisesRegex(ValueError, "wanted a whole number from 1"):
                st.Quorum(workers)


if __name__ == "__main__":
    work.run_tests(sys.argv[1:])
    print("done", flush=True)
