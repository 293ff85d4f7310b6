# SPDX-License-Identifier: Apache-2.0
"""A program of torch.distributed that knows nothing of Stretto: it names other backends. Run by
distributed_test.py with `python3 -m stretto.torch.distributed`.
"""

import atexit
import os
import pickle
import sys

import torch
import torch.distributed as dist
from torch.distributed import init_process_group, new_group

import work  # What lies beside the program is found.


class Own:
    """Of the main module."""


def main():
    assert sys.argv[1:] == ["--its", "own"], sys.argv
    assert os.path.isabs(__file__), __file__
    assert os.path.dirname(work.__file__) == os.path.dirname(__file__), work.__file__
    assert pickle.loads(pickle.dumps(Own())).__class__ is Own
    atexit.register(lambda: pickle.dumps(Own()))  # It is still there.
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
