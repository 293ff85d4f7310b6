# SPDX-License-Identifier: Apache-2.0
"""Run by every worker of a job of distributed_release_test.py: calls of torch.distributed that
differ between releases of PyTorch. Prints "done" if the results are right. A case is left out if
this release lacks the call.
"""

import sys
import unittest

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook

import stretto.torch.distributed  # pylint: disable=unused-import

try:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    MESH = True
except ImportError:
    MESH = False


class Release(unittest.TestCase):

    def setUp(self):
        self.rank, self.size = dist.get_rank(), dist.get_world_size()

    if hasattr(dist.ProcessGroup, "group_name"):
        def test_groups_have_names(self):
            group = dist.new_group(list(range(self.size)))
            self.assertTrue(group.group_name)
            self.assertNotEqual(group.group_name, dist.group.WORLD.group_name)
            dist.destroy_process_group(group)

    def test_all_gather_into_tensor(self):
        gathered = torch.zeros(2 * self.size)
        dist.all_gather_into_tensor(gathered, torch.full((2,), float(self.rank)))
        self.assertEqual(gathered.tolist(), [rank for rank in range(self.size) for _ in range(2)])

    if MESH:
        def test_tensor_of_a_mesh(self):
            mesh = init_device_mesh("cpu", (self.size,))
            whole = torch.arange(4.0 * self.size).reshape(2 * self.size, 2)
            part = distribute_tensor(whole, mesh, [Shard(0)])
            mine = whole[2 * self.rank:2 * self.rank + 2]
            self.assertEqual(part.to_local().tolist(), mine.tolist())
            self.assertEqual((part + 1).full_tensor().tolist(), (whole + 1).tolist())
            total = part.sum().redistribute(mesh, [Replicate()]).to_local()
            self.assertEqual(total.item(), whole.sum().item())

    def test_power_sgd_hook(self):
        """The callbacks of the hook wait for calls of their own."""
        torch.manual_seed(1)
        model = nn.parallel.DistributedDataParallel(nn.Linear(8, 8, bias=False))
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=8,
                                            start_powerSGD_iter=2, min_compression_rate=0.5)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        inputs = torch.randn(8, 8) * (self.rank + 1)
        for _ in range(4):
            model.zero_grad()
            model(inputs).sum().backward()
        mean = sum(range(1, self.size + 1)) / self.size
        wanted = (inputs / (self.rank + 1)).sum(0).expand(8, 8) * mean
        self.assertTrue(torch.allclose(model.module.weight.grad, wanted, rtol=1e-3, atol=1e-3),
                        model.module.weight.grad)


def main():
    dist.init_process_group("stretto")
    passed = unittest.main(exit=False).result.wasSuccessful()
    dist.destroy_process_group()
    if not passed:
        sys.exit(1)
    print("done", flush=True)


if __name__ == "__main__":
    main()
