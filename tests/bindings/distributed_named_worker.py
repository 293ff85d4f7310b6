# SPDX-License-Identifier: Apache-2.0
"""A program of torch.distributed that knows nothing of Stretto: it names other backends. Run by
distributed_test.py with `python3 -m stretto.torch.distributed`.
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed import init_process_group, new_group

import work  # What lies beside the program is found.


def main():
    assert sys.argv[1:] == ["--its", "own"], sys.argv
    assert work.__file__.startswith(sys.path[0]), sys.path
    init_process_group(backend="gloo", init_method="env://")
    pair = new_group([0, 1], backend="nccl")
    assert {dist.get_backend(), dist.get_backend(pair)} == {"stretto"}
    for group in (None, pair):
        total = torch.tensor([dist.get_rank() + 1.0])
        dist.all_reduce(total, group=group)
        assert total.item() == 3, total
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    model(torch.full((1, 2), float(dist.get_rank()))).sum().backward()
    assert model.module.weight.grad.tolist() == [[0.5, 0.5]], model.module.weight.grad
    dist.destroy_process_group()
    print("done", flush=True)


if __name__ == "__main__":
    main()
