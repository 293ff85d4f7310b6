# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of no_servers_test.py. `train FOLDER` trains one model by each of
the wrappers that scripts use, none of which selects an exchange, and saves the weights. Otherwise
it runs the calls that only jobs without servers refuse. Prints "done" if all results are right.
"""

import pathlib
import sys
import unittest

import torch
from torch import nn

import byteps.torch as bps
import stretto.horovod.torch as hvd
import stretto.torch as st
import work
from stretto import errors, session

STEPS = 8


def perceptron():
    """A different model at each rank, until a broadcast."""
    torch.manual_seed(st.rank())
    return nn.Sequential(nn.Linear(12, 900), nn.BatchNorm1d(900), nn.Tanh(), nn.Linear(900, 3))


def momentum(model):
    """An optimizer with a state."""
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def by_optimizer(model):
    """Wraps like scripts of Stretto."""
    optimizer = st.DistributedOptimizer(momentum(model), model.named_parameters(), digest_every=3)
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    st.broadcast_optimizer_state(optimizer, root_rank=0)
    return model, optimizer


def by_layers(model):
    """Steps layer by layer."""
    st.broadcast_parameters(model.state_dict(), root_rank=0)
    return model, st.DistributedOptimizer(momentum(model), model.named_parameters(), model=model)


def by_module(model):
    """Wraps like scripts of PyTorch."""
    model = st.DistributedDataParallel(model)
    return model, momentum(model)


def by_byteps(model):
    """Wraps like scripts of BytePS."""
    optimizer = bps.DistributedOptimizer(momentum(model), model.named_parameters())
    bps.broadcast_parameters(model.state_dict(), root_rank=0)
    return model, optimizer


def by_horovod(model):
    """Wraps like scripts of Horovod."""
    optimizer = hvd.DistributedOptimizer(momentum(model), model.named_parameters())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    return model, optimizer


def weights(wrap):
    """The parameters after some steps; the same at all workers."""
    model, optimizer = wrap(perceptron())
    for step in range(STEPS):
        generator = torch.Generator().manual_seed(1000 * step + st.rank())
        inputs = torch.randn(8, 12, generator=generator)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(inputs), inputs[:, :3] * 2 - 1).backward()
        optimizer.step()
    found = torch.cat([each.detach().reshape(-1) for each in model.parameters()])
    for row in st.allgather(found.view(1, -1)):
        assert torch.equal(row, found), f"{wrap.__name__}: the workers' weights differ"
    return found


def train(folder):
    """Saves the weights of the model after training by each wrapper."""
    st.init()
    torch.set_num_threads(1)
    found = {wrap.__name__: weights(wrap)
             for wrap in (by_optimizer, by_layers, by_module, by_byteps, by_horovod)}
    assert st.broadcast_object({"rank": st.rank()}, root_rank=0) == {"rank": 0}
    if st.rank() == 0:
        torch.save(found, pathlib.Path(folder) / "weights.pt")
    st.shutdown()


class Refused(unittest.TestCase):

    def wrap(self, kind=torch.float32, **options):
        """An optimizer with these options."""
        layer = nn.Linear(2, 2).to(kind)
        return st.DistributedOptimizer(momentum(layer), layer.named_parameters(), **options)

    def test_optimizers(self):
        none = r"no servers \(--servers 0\), so gradients go by exchange 'direct', which is for "
        for words, options in (
                (none + "modes 'sync' and 'delayed'; mode 'eager' has its", {"mode": "eager"}),
                (none + "modes 'sync' and 'delayed'; mode 'bounded'", {"mode": "bounded"}),
                (none + "gradients as they are", {"compression": st.Compression.fp16}),
                (none + "gradients as they are", {"compression_params": {"compressor": "onebit"}}),
                (none + "means of float32 and float64", {"kind": torch.bfloat16}),
                (r"'servers' wants some, and this job has none \(--servers 0\); leave exchange=",
                 {"exchange": "servers"})):
            with self.subTest(options), self.assertRaisesRegex(ValueError, words):
                self.wrap(**options)
        self.wrap(exchange="ring")

    def test_tensors(self):
        with self.assertRaisesRegex(errors.InvalidArgument,
                                    r"wants servers, and this job has none \(--servers 0\)"):
            st.push_pull(torch.ones(3), "by servers", exchange="servers")
        with self.assertRaisesRegex(errors.InvalidArgument, "exchange direct is for tensors without"
                                    r" a codec.*this job has none \(--servers 0\).*start servers"):
            session.current().declare("coded", "f32", 3, codec="onebit")
        with self.assertRaisesRegex(errors.Unsupported, "where none can sit out"):
            hvd.join()
        st.barrier()

    def test_means_of_narrow_types_are_made_in_wide_ones(self):
        for kind, most in ((torch.float16, 60000), (torch.bfloat16, 1e38), (torch.uint8, 250),
                           (torch.int8, -120), (torch.int32, 2**31 - 2)):
            mine = torch.full((4,), most, dtype=kind)
            self.assertTrue(torch.equal(st.push_pull(mine, f"mean {kind}"), mine), kind)

    def test_a_narrow_type_is_not_taken_for_a_wide_one(self):
        kind = torch.float16 if st.rank() == 0 else torch.float32
        with self.assertRaises(errors.Mismatch):
            st.push_pull(torch.ones(4, dtype=kind), "narrow here")
        st.barrier()


if __name__ == "__main__":
    if sys.argv[1:2] == ["train"]:
        train(sys.argv[2])
    else:
        work.run_tests()
    print("done", flush=True)
