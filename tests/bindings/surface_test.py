# SPDX-License-Identifier: Apache-2.0
"""The interface of byteps.torch: every name, signature, default and kind of exception known to
BytePS's users, without a job. exchange_test.py tests the calls among several workers.
"""

import ast
import inspect
import unittest
import unittest.mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

import byteps.torch as bps
from stretto import _core, errors, session

# Name: parameters as in BytePS, in order, with their defaults. Ours may have more after them.
NONE = bps.Compression.none
SIGNATURES = {
    "init": {"lazy": False},
    "shutdown": {},
    "suspend": {},
    "resume": {"num_workers": ..., "num_servers": ..., "global_rank": ..., "context": None},
    "rank": {}, "size": {}, "local_rank": {}, "local_size": {},
    "push_pull": {"tensor": ..., "average": True, "name": None, "version": 0, "priority": 0,
                  "compression": NONE},
    "byteps_push_pull": {"tensor": ..., "average": True, "name": None, "version": 0,
                         "priority": 0},
    "poll": {"handle": ...}, "synchronize": {"handle": ...}, "declare": {"name": ...},
    "DistributedOptimizer": {"optimizer": ..., "named_parameters": None, "compression": NONE,
                             "backward_passes_per_step": 1},
    "broadcast_parameters": {"params": ..., "root_rank": ..., "prefix": "Parameter."},
    "broadcast_optimizer_state": {"optimizer": ..., "root_rank": ..., "prefix": "Parameter."},
    "broadcast_object": {"obj": ..., "root_rank": 0, "name": None},
    "ops.push_pull_async": {"tensor": ..., "average": True, "name": None, "version": 0,
                            "priority": 0},
    "ops.push_pull_inplace": {"tensor": ..., "average": True, "name": None, "version": 0,
                              "priority": 0},
    "ops.push_pull_async_inplace": {"tensor": ..., "average": True, "name": None, "version": 0,
                                    "priority": 0},
    "ops.push_pull_group_sync_inplace": {"tensor": ..., "average": True, "name": None,
                                         "version": 0, "priority": 0},
    "ops.byteps_torch_set_num_grads": {"num_grads": ...},
    "parallel.DistributedDataParallel": {"module": ..., "device_ids": None,
                                         "broadcast_buffers": True, "compression": NONE},
    "cross_barrier.CrossBarrier": {"model": ..., "optimizer": ..., "named_parameters": None,
                                   "compression": NONE, "backward_passes_per_step": 1,
                                   "num_steps": 10**6},
}
MODULES = ("ops", "compression", "parallel", "torch", "os", "io", "collections")
OURS_BESIDES = ("is_initialized", "broadcast", "allgather", "barrier")


def found(dotted):
    """The object byteps.torch.DOTTED."""
    import byteps.torch.cross_barrier  # Importing it changes nothing, unlike in BytePS.
    value = bps
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


class Surface(unittest.TestCase):

    def test_signatures(self):
        for name, wanted in SIGNATURES.items():
            with self.subTest(name):
                parameters = list(inspect.signature(found(name)).parameters.values())
                ours = {parameter.name: ... if parameter.default is parameter.empty
                        else parameter.default for parameter in parameters[:len(wanted)]}
                self.assertEqual(ours, wanted)
                for more in parameters[len(wanted):]:
                    optional = more.default is not more.empty or \
                        more.kind in (more.VAR_KEYWORD, more.VAR_POSITIONAL)
                    self.assertTrue(optional, f"{more.name} must be optional")

    def test_modules_and_additions(self):
        for name in MODULES + OURS_BESIDES:
            self.assertTrue(hasattr(bps, name), name)
        for name in bps.__all__:
            self.assertTrue(hasattr(bps, name), name)

    def test_compression_has_static_methods(self):
        tensor = torch.ones(3)
        small, context = bps.Compression.fp16.compress(tensor)
        self.assertEqual(small.dtype, torch.float16)
        self.assertEqual(bps.Compression.fp16.decompress(small, context).dtype, torch.float32)
        self.assertIs(bps.Compression.none.compress(tensor)[0], tensor)

    def test_docstrings(self):
        for name in SIGNATURES:
            self.assertTrue(inspect.getdoc(found(name)), name)

    def test_stub_describes_the_module(self):
        stub = ast.parse((jobs.cluster.SOURCE / "bindings" / "python" / "stretto" / "_core.pyi")
                         .read_text(encoding="utf-8"))
        classes = {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}
        real = {name for name, value in vars(_core).items() if inspect.isclass(value)}
        self.assertEqual(set(classes), real)
        for name, node in classes.items():
            described = {item.name if isinstance(item, ast.FunctionDef) else item.target.id
                         for item in node.body}
            described = {member for member in described if not member.startswith("__")}
            there = {member for member in vars(getattr(_core, name))
                     if not member.startswith("_")}
            self.assertEqual(described, there, name)


class BeforeInit(unittest.TestCase):

    def setUp(self):
        never = unittest.mock.patch.object(session, "_before", None)
        never.start()
        self.addCleanup(never.stop)

    def test_says_what_to_do(self):
        for call in (bps.rank, bps.size, bps.local_rank, bps.local_size,
                     lambda: bps.declare("x"), lambda: bps.push_pull(torch.ones(1), name="x")):
            with self.assertRaisesRegex(ValueError, "not been initialized; call init"):
                call()
        self.assertFalse(bps.is_initialized())


class Alone(unittest.TestCase):
    """A script without a launcher is a job of one."""

    def setUp(self):
        self.assertEqual(bps.init(), 0)
        self.assertEqual(bps.init(), 0, "again does nothing")
        self.addCleanup(bps.shutdown)

    def test_place(self):
        self.assertEqual((bps.rank(), bps.size(), bps.local_rank(), bps.local_size()),
                         (0, 1, 0, 1))
        self.assertTrue(bps.is_initialized())
        for leave in (bps.suspend, bps.shutdown):
            bps.init()
            leave()
            self.assertFalse(bps.is_initialized())
            self.assertEqual((bps.rank(), bps.size(), bps.local_rank(), bps.local_size()),
                             (0, 1, 0, 1), "as they were")

    def test_exchanges_give_back(self):
        tensor = torch.arange(4.0)
        self.assertTrue(torch.equal(bps.push_pull(tensor, name="t"), tensor))
        self.assertEqual(bps.allgather(tensor).tolist(), tensor.tolist())
        self.assertEqual(bps.broadcast_object({"a": 1}), {"a": 1})
        bps.barrier()
        handle = bps.byteps_push_pull(tensor)
        self.assertTrue(bps.poll(handle))
        self.assertIs(bps.synchronize(handle), tensor)
        self.assertIsNone(bps.synchronize(handle))

    def test_trains(self):
        model = torch.nn.Linear(2, 1)
        optimizer = bps.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                             model.named_parameters())
        self.assertIsInstance(optimizer, torch.optim.SGD)
        self.assertEqual(type(optimizer).__name__, "SGD")
        before = model.weight.detach().clone()
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        self.assertTrue(torch.allclose(before - 0.1, model.weight))


class Refused(unittest.TestCase):

    def setUp(self):
        bps.init()
        self.addCleanup(bps.shutdown)
        self.model = torch.nn.Linear(2, 1)
        self.sgd = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def refuses(self, kind, words, call, *arguments, **options):
        with self.assertRaisesRegex(kind, words):
            call(*arguments, **options)

    def test_push_pull(self):
        self.refuses(AssertionError, "must specify a name", bps.push_pull, torch.ones(1))
        self.refuses(TypeError, "wanted a torch.Tensor", bps.push_pull, [1], name="x")
        self.refuses(ValueError, "Tensor type torch.complex64 is not supported", bps.push_pull,
                     torch.ones(1, dtype=torch.complex64), name="x")
        self.refuses(TypeError, "sparse", bps.push_pull, torch.eye(2).to_sparse(), name="x")

    def test_broadcast(self):
        self.refuses(ValueError, "invalid params of type", bps.broadcast_parameters,
                     self.model.named_parameters(), 0)
        self.refuses(ValueError, "LBFGS", bps.broadcast_optimizer_state,
                     torch.optim.LBFGS(self.model.parameters()), 0)

    def test_optimizer(self):
        twice = list(self.model.named_parameters()) * 2
        self.refuses(ValueError, "must be unique", bps.DistributedOptimizer, self.sgd, twice)
        self.refuses(ValueError, "sequence of tuples", bps.DistributedOptimizer, self.sgd,
                     self.model.parameters())
        self.refuses(ValueError, "not named", bps.DistributedOptimizer, self.sgd,
                     list(self.model.named_parameters())[:1])
        self.refuses(ValueError, "backward_passes_per_step", bps.DistributedOptimizer, self.sgd,
                     backward_passes_per_step=0)
        self.refuses(ValueError, "compression_params", bps.DistributedOptimizer, self.sgd,
                     compression_params={"compressor": "zip"})
        self.refuses(ValueError, "topk needs k", bps.DistributedOptimizer, self.sgd,
                     compression_params={"compressor": "topk"})
        self.refuses(ValueError, "colour", bps.declare, "x", colour="red")
        self.refuses(ValueError, "staleness", bps.DistributedOptimizer, self.sgd, staleness=2)
        self.refuses(TypeError, "wanted one of torch.optim", bps.DistributedOptimizer, self.model)

    def test_parallel(self):
        for ids in (None, [], [0, 1]):
            self.refuses(AssertionError, "exactly one entry",
                         bps.parallel.DistributedDataParallel, self.model, device_ids=ids)
        frozen = torch.nn.Linear(1, 1).requires_grad_(False)
        self.refuses(AssertionError, "not needed", bps.parallel.DistributedDataParallel, frozen,
                     device_ids=[0])


class Errors(unittest.TestCase):

    def test_each_code_has_a_class(self):
        error = errors.of_status("PeerLost", "worker 1 died", "worker 1", "push_pull 'x'")
        self.assertIsInstance(error, errors.PeerLost)
        self.assertEqual(str(error), "push_pull 'x': worker 1 died (peer: worker 1)")
        self.assertIsInstance(errors.of_status("Mismatch", "", "", ""), ValueError)
        self.assertEqual(errors.of_status("New", "x", "", "").code, "New")


if __name__ == "__main__":
    unittest.main()
