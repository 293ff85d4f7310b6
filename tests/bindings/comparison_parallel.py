# SPDX-License-Identifier: Apache-2.0
"""Cases of comparison.py: what PyTorch 2 builds on torch.distributed. Imports are in the cases: a
module that PyTorch lacks fails the case for both backends."""

import copy
import tempfile

import torch
import torch.distributed as dist
from torch import nn

import comparison

CASES = comparison.Cases()


def net():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU(),
                         nn.Linear(16, 4))


def batch(rank, step=0):
    return torch.randn(8, 16, generator=torch.Generator().manual_seed(10 * step + rank))


def numbers(rank, count=12):
    return torch.arange(float(count)) + rank


def full(value):
    """The whole tensor of a DTensor, or the tensor."""
    return value.detach().full_tensor() if hasattr(value, "full_tensor") else value.detach()


def train(rank, model, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = model(batch(rank, step)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(full(loss))
    return losses


def shared_folder(rank):
    """One new folder for both ranks."""
    found = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(found, src=0)
    return found[0]


# Meshes and DTensors.

def mesh_of(*sizes, **options):
    from torch.distributed.device_mesh import init_device_mesh
    return init_device_mesh("cpu", sizes, **options)


@CASES.case
def device_mesh(rank):
    mesh = mesh_of(2)
    tensor = numbers(rank)
    dist.all_reduce(tensor, group=mesh.get_group())
    return [tensor, mesh.get_local_rank(), mesh.size()]


@CASES.case
def device_mesh_of_two_dimensions(rank):
    mesh = mesh_of(1, 2, mesh_dim_names=("dp", "tp"))
    tensor = numbers(rank)
    dist.all_reduce(tensor, group=mesh["tp"].get_group())
    dist.all_reduce(tensor, group=mesh["dp"].get_group())
    return [tensor, mesh["tp"].get_local_rank(), mesh.get_coordinate()]


def dtensor(rank, placements):
    from torch.distributed import tensor as dtensors
    chosen = [{"S0": dtensors.Shard(0), "S1": dtensors.Shard(1), "R": dtensors.Replicate()}[one]
              for one in placements]
    torch.manual_seed(3)
    whole = torch.randn(6, 10)
    sharded = dtensors.distribute_tensor(whole, mesh_of(2), chosen[:1])
    moved = sharded.redistribute(placements=chosen[1:])
    return [sharded.to_local(), moved.to_local(), moved.full_tensor()]


for _from, _to in (("S0", "R"), ("S0", "S1"), ("S1", "S0"), ("R", "S1")):
    CASES.add(f"DTensor from {_from} to {_to}", dtensor, [_from, _to])


@CASES.case
def dtensor_of_an_odd_size(rank):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    value = distribute_tensor(torch.arange(7.0), mesh_of(2), [Shard(0)])
    return [value.to_local(), value.redistribute(placements=[Replicate()]).to_local()]


@CASES.case
def dtensor_products_and_gradients(rank):
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    mesh = mesh_of(2)
    torch.manual_seed(3)
    one, other = torch.randn(8, 6), torch.randn(6, 4)
    left = distribute_tensor(one, mesh, [Shard(1)]).requires_grad_()
    right = distribute_tensor(other, mesh, [Shard(0)]).requires_grad_()
    found = left @ right
    found.redistribute(placements=[Replicate()]).to_local().square().sum().backward()
    return [full(found), full(left.grad), full(right.grad)]


@CASES.case
def dtensor_random_values(rank):
    from torch.distributed import tensor as dtensors
    return full(dtensors.zeros(6, 4, device_mesh=mesh_of(2), placements=[dtensors.Shard(0)]) + 1)


@CASES.case
def tensor_parallel(rank):
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)
    model = parallelize_module(net(), mesh_of(2), {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return [train(0, model), [full(one) for one in model.parameters()]]


@CASES.case
def sequence_parallel(rank):
    from torch.distributed.tensor.parallel import SequenceParallel, parallelize_module
    model = parallelize_module(nn.LayerNorm(16), mesh_of(2), SequenceParallel())
    value = batch(0).view(1, 8, 16)
    return full(model(value))


@CASES.case
def loss_parallel(rank):
    from torch.distributed.tensor import Shard, distribute_tensor
    from torch.distributed.tensor.parallel import loss_parallel as parallel
    logits = distribute_tensor(batch(0), mesh_of(2), [Shard(1)])
    with parallel():
        return full(nn.functional.cross_entropy(logits, torch.arange(8)))


# Sharded and replicated modules.

def fsdp1(rank, strategy, **options):
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    model = FullyShardedDataParallel(
        net(), sharding_strategy=getattr(ShardingStrategy, strategy),
        device_id=torch.device("cpu"), **options)
    losses = train(rank, model)
    with FullyShardedDataParallel.summon_full_params(model):
        return [losses, [one.detach().clone() for one in model.parameters()]]


for _strategy in ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD"):
    CASES.add(f"FSDP1 {_strategy}", fsdp1, _strategy)


@CASES.case
def fsdp1_with_original_parameters(rank):
    return fsdp1(rank, "FULL_SHARD", use_orig_params=True)


@CASES.case
def fsdp1_full_state_dict(rank):
    from torch.distributed.fsdp import FullyShardedDataParallel, StateDictType
    model = FullyShardedDataParallel(net(), device_id=torch.device("cpu"))
    train(rank, model)
    with FullyShardedDataParallel.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        return [value.clone() for value in model.state_dict().values()]


def fsdp2(rank, make=None, **options):
    from torch.distributed.fsdp import fully_shard
    model = net()
    fully_shard(model[0], mesh=make and make(), **options)
    fully_shard(model, mesh=make and make(), **options)
    return [train(rank, model), [full(one) for one in model.parameters()]]


CASES.add("FSDP2", fsdp2)
CASES.add("FSDP2 on a mesh", fsdp2, lambda: mesh_of(2))
CASES.add("FSDP2 in two dimensions", fsdp2,
          lambda: mesh_of(1, 2, mesh_dim_names=("replicate", "shard")))


@CASES.case
def fsdp2_without_resharding(rank):
    return fsdp2(rank, reshard_after_forward=False)


@CASES.case
def composable_replicate(rank):
    from torch.distributed._composable.replicate import replicate
    model = replicate(net(), device_mesh=mesh_of(2))
    return [train(rank, model), [full(one) for one in model.parameters()]]


def pipeline(rank, schedule):
    from torch.distributed import pipelining
    layers = net()
    part = layers[:3] if rank == 0 else layers[3:]
    stage = pipelining.PipelineStage(part, rank, 2, torch.device("cpu"))
    runner = getattr(pipelining, schedule)(
        stage, 4, loss_fn=lambda found, wanted: (found - wanted).square().mean())
    losses = []
    if rank == 0:
        runner.step(batch(0))
    else:
        runner.step(target=torch.zeros(8, 4), losses=losses)
    return [[loss.detach() for loss in losses], [one.grad for one in part.parameters()]]


for _schedule in ("ScheduleGPipe", "Schedule1F1B"):
    CASES.add(f"pipelining {_schedule}", pipeline, _schedule)


# Functional collectives and compiled ones.

def functional(rank, name, *arguments):
    from torch.distributed import _functional_collectives as calls
    found = getattr(calls, name)(numbers(rank), *arguments, dist.group.WORLD)
    return calls.wait_tensor(found)


for _name, *_arguments in (("all_reduce", "sum"), ("all_gather_tensor", 0),
                           ("reduce_scatter_tensor", "sum", 0), ("broadcast", 1),
                           ("all_to_all_single", None, None)):
    CASES.add(f"functional {_name}", functional, _name, *_arguments)


def functional_coalesced(rank, name, *arguments):
    from torch.distributed import _functional_collectives as calls
    found = getattr(calls, name)([numbers(rank), numbers(rank, 4)], *arguments, dist.group.WORLD)
    return [calls.wait_tensor(one) for one in found]


for _name, *_arguments in (("all_reduce_coalesced", "sum"), ("all_gather_into_tensor_coalesced",),
                           ("reduce_scatter_tensor_coalesced", "sum", [0, 0])):
    CASES.add(f"functional {_name}", functional_coalesced, _name, *_arguments)


def compiled(rank, backend):
    model = torch.compile(nn.parallel.DistributedDataParallel(net()), backend=backend)
    return [train(rank, model), [one.detach() for one in model.parameters()]]


for _backend in ("eager", "aot_eager", "inductor"):
    CASES.add(f"compile of DDP by {_backend}", compiled, _backend)


@CASES.case
def ddp_of_compiled_module(rank):
    model = nn.parallel.DistributedDataParallel(torch.compile(net(), backend="aot_eager"))
    return train(rank, model)


@CASES.case
def compile_of_collectives(rank):
    def call(tensor):
        tensor = tensor * 2
        dist.all_reduce(tensor)
        return tensor + 1
    return torch.compile(call, backend="aot_eager")(numbers(rank))


@CASES.case
def compile_of_functional_collectives(rank):
    from torch.distributed import _functional_collectives as calls

    def call(tensor):
        return calls.all_gather_tensor(calls.all_reduce(tensor * 2, "sum", dist.group.WORLD), 0,
                                       dist.group.WORLD) + 1
    return torch.compile(call, backend="aot_eager", fullgraph=True)(numbers(rank))


@CASES.case
def compile_of_fsdp2(rank):
    from torch.distributed.fsdp import fully_shard
    model = net()
    fully_shard(model)
    return train(rank, torch.compile(model, backend="aot_eager"))


# Checkpoints.

def saved(rank, model, save):
    from torch.distributed import checkpoint
    folder = shared_folder(rank)
    save(checkpoint, {"model": model.state_dict()}, folder)
    dist.barrier()
    other = {"model": copy.deepcopy(model.state_dict())}
    for value in other["model"].values():
        value.zero_()
    checkpoint.load(other, checkpoint_id=folder)
    return [full(value) for value in other["model"].values()]


def save_at_once(checkpoint, state, folder):
    checkpoint.save(state, checkpoint_id=folder)


def save_meanwhile(checkpoint, state, folder):
    checkpoint.async_save(state, checkpoint_id=folder).result()


@CASES.case
def checkpoint_of_ddp(rank):
    return saved(rank, nn.parallel.DistributedDataParallel(net()), save_at_once)


@CASES.case
def checkpoint_of_ddp_meanwhile(rank):
    return saved(rank, nn.parallel.DistributedDataParallel(net()), save_meanwhile)


def sharded(rank):
    from torch.distributed.tensor.parallel import (ColwiseParallel, RowwiseParallel,
                                                   parallelize_module)
    return parallelize_module(net(), mesh_of(2), {"0": ColwiseParallel(), "2": RowwiseParallel()})


@CASES.case
def checkpoint_of_dtensors(rank):
    return saved(rank, sharded(rank), save_at_once)


@CASES.case
def checkpoint_of_dtensors_meanwhile(rank):
    return saved(rank, sharded(rank), save_meanwhile)


@CASES.case
def state_dict_of_model_and_optimizer(rank):
    from torch.distributed.checkpoint import state_dict
    model = sharded(rank)
    optimizer = torch.optim.Adam(model.parameters())
    model(batch(0)).square().mean().backward()
    optimizer.step()
    options = state_dict.StateDictOptions(full_state_dict=True)
    found = state_dict.get_state_dict(model, optimizer, options=options)
    return [value for value in found[0].values()]
