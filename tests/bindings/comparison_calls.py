# SPDX-License-Identifier: Apache-2.0
"""Cases of comparison.py: the calls of torch.distributed, by element type and by form."""

import datetime

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable

import comparison

CASES = comparison.Cases()
TYPES = [kind for kind in (
    "float32", "float64", "float16", "bfloat16", "int8", "uint8", "int16", "int32", "int64", "bool",
    "complex64", "uint16", "uint32", "float8_e4m3fn") if hasattr(torch, kind)]
MOVED = ("float32", "bfloat16", "int64", "bool", "complex64")
LONG = datetime.timedelta(seconds=60)


def numbers(rank, count=12, kind=torch.float32):
    """Small whole numbers, which every type can have and add."""
    return (torch.arange(count) % 5 + rank).to(kind)


def peer(rank):
    return 1 - rank


# Reductions.

def all_reduce(rank, kind, op="SUM", count=12):
    tensor = numbers(rank, count, kind)
    dist.all_reduce(tensor, getattr(dist.ReduceOp, op))
    return tensor


for _name in TYPES:
    CASES.add(f"all_reduce {_name}", all_reduce, getattr(torch, _name))
for _op in ("MIN", "MAX", "PRODUCT", "AVG"):
    CASES.add(f"all_reduce {_op}", all_reduce, torch.float32, _op)
for _op in ("BAND", "BOR", "BXOR"):
    CASES.add(f"all_reduce {_op} int32", all_reduce, torch.int32, _op)
for _count in (0, 1, 1_000_000):
    CASES.add(f"all_reduce of {_count}", all_reduce, torch.float32, "SUM", _count)


@CASES.case
def all_reduce_asynchronous(rank):
    tensors = [numbers(rank, 100 + at) for at in range(20)]
    for request in [dist.all_reduce(tensor, async_op=True) for tensor in tensors]:
        request.wait()
    return tensors


@CASES.case
def all_reduce_not_contiguous(rank):
    tensor = numbers(rank, 24).view(4, 6).t()
    dist.all_reduce(tensor)
    return tensor.contiguous()


@CASES.case
def all_reduce_scalar(rank):
    tensor = torch.tensor(rank + 0.5)
    dist.all_reduce(tensor)
    return tensor


@CASES.case
def all_reduce_sparse(rank):
    tensor = torch.sparse_coo_tensor([[rank, 2], [0, 1]], [1.0, 2.0 + rank], (4, 3))
    dist.all_reduce(tensor)
    return tensor.to_dense()


@CASES.case
def all_reduce_coalesced(rank):
    tensors = [numbers(rank), numbers(rank, 5)]
    dist.all_reduce_coalesced(tensors)
    return tensors


@CASES.case
def all_reduce_in_coalescing_manager(rank):
    tensors = [numbers(rank), numbers(rank, 5)]
    with dist.distributed_c10d._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    return tensors


def reduce(rank, root, kind):
    tensor = numbers(rank, kind=kind)
    dist.reduce(tensor, root)
    return tensor if rank == root else []


for _root, _name in ((0, "float32"), (1, "float32"), (1, "int64")):
    CASES.add(f"reduce {_name} to {_root}", reduce, _root, getattr(torch, _name))


def reduce_scatter(rank, op):
    found = torch.empty(6)
    dist.reduce_scatter(found, list(numbers(rank).split(6)), getattr(dist.ReduceOp, op))
    return found


def reduce_scatter_tensor(rank, op, call="reduce_scatter_tensor", kind=torch.float32):
    found = torch.empty(6, dtype=kind)
    getattr(dist, call)(found, numbers(rank, kind=kind), getattr(dist.ReduceOp, op))
    whole = {"SUM": lambda one, other: one + other, "MAX": torch.maximum,
             "AVG": lambda one, other: (one + other) / 2}[op](numbers(0), numbers(1)).to(kind)
    return comparison.Known(found, whole.split(6)[rank])


for _op in ("SUM", "MAX", "AVG"):
    CASES.add(f"reduce_scatter {_op}", reduce_scatter, _op)
    CASES.add(f"reduce_scatter_tensor {_op}", reduce_scatter_tensor, _op)
CASES.add("reduce_scatter_tensor bfloat16", reduce_scatter_tensor, "SUM", "reduce_scatter_tensor",
          torch.bfloat16)
CASES.add("reduce_scatter_single", reduce_scatter_tensor, "SUM", "reduce_scatter_single")


@CASES.case
def reduce_scatter_tensor_in_coalescing_manager(rank):
    found = [torch.empty(6), torch.empty(3)]
    with dist.distributed_c10d._coalescing_manager():
        dist.reduce_scatter_tensor(found[0], numbers(rank))
        dist.reduce_scatter_tensor(found[1], numbers(rank, 6))
    return found


# Moves.

def broadcast(rank, kind, root=1):
    tensor = numbers(rank, kind=kind)
    dist.broadcast(tensor, root)
    return tensor


def all_gather(rank, kind):
    found = [torch.empty(12, dtype=kind) for _ in range(2)]
    dist.all_gather(found, numbers(rank, kind=kind))
    return found


def all_gather_into_tensor(rank, kind, call="all_gather_into_tensor"):
    found = torch.empty(24, dtype=kind)
    getattr(dist, call)(found, numbers(rank, kind=kind))
    return found


def send_and_receive(rank, kind):
    tensor = numbers(rank, kind=kind)
    if rank == 0:
        dist.send(tensor, 1)
    else:
        dist.recv(tensor, 0)
    return tensor


for _name in MOVED:
    CASES.add(f"broadcast {_name}", broadcast, getattr(torch, _name))
    CASES.add(f"all_gather {_name}", all_gather, getattr(torch, _name))
    CASES.add(f"all_gather_into_tensor {_name}", all_gather_into_tensor, getattr(torch, _name))
    CASES.add(f"send and recv {_name}", send_and_receive, getattr(torch, _name))
CASES.add("broadcast not from 1", broadcast, torch.float32, 0)
CASES.add("all_gather_single", all_gather_into_tensor, torch.float32, "all_gather_single")


@CASES.case
def all_gather_stacked(rank):
    found = torch.empty(2, 12)
    dist.all_gather_into_tensor(found, numbers(rank))
    return found


@CASES.case
def all_gather_asynchronous(rank):
    found = [torch.empty(12) for _ in range(2)]
    dist.all_gather(found, numbers(rank), async_op=True).wait()
    return found


@CASES.case
def all_gather_coalesced(rank):
    found = [[torch.empty(12), torch.empty(3)] for _ in range(2)]
    dist.all_gather_coalesced(found, [numbers(rank), numbers(rank, 3)])
    return found


@CASES.case
def all_gather_into_tensor_in_coalescing_manager(rank):
    found = [torch.empty(24), torch.empty(6)]
    with dist.distributed_c10d._coalescing_manager():
        dist.all_gather_into_tensor(found[0], numbers(rank))
        dist.all_gather_into_tensor(found[1], numbers(rank, 3))
    return found


def gather(rank, root):
    found = [torch.empty(12) for _ in range(2)] if rank == root else None
    dist.gather(numbers(rank), found, root)
    return found or []


def scatter(rank, root):
    found = torch.empty(6)
    dist.scatter(found, list(numbers(rank).split(6)) if rank == root else None, root)
    return found


for _root in (0, 1):
    CASES.add(f"gather to {_root}", gather, _root)
    CASES.add(f"scatter from {_root}", scatter, _root)


@CASES.case
def gather_single(rank):
    found = torch.empty(24)
    dist.gather_single(numbers(rank), found if rank == 0 else None, dst=0)
    return found if rank == 0 else []


@CASES.case
def all_to_all(rank):
    found = [torch.empty(6) for _ in range(2)]
    dist.all_to_all(found, list(numbers(rank).split(6)))
    return found


def all_to_all_single(rank, kind, give=None, take=None):
    found = torch.empty(sum(take[rank]) if take else 12, dtype=kind)
    dist.all_to_all_single(found, numbers(rank, sum(give[rank]) if give else 12, kind),
                           take and take[rank], give and give[rank])
    return found


for _name in ("float32", "int64", "complex64"):
    CASES.add(f"all_to_all_single {_name}", all_to_all_single, getattr(torch, _name))
CASES.add("all_to_all_single uneven", all_to_all_single, torch.float32, [[1, 3], [2, 4]],
          [[1, 2], [3, 4]])


@CASES.case
def isend_and_irecv_with_tags(rank):
    found = [torch.empty(3) for _ in range(3)]
    requests = [dist.isend(numbers(rank, 3) + tag, peer(rank), tag=tag) for tag in range(3)]
    requests += [dist.irecv(found[tag], peer(rank), tag=tag) for tag in reversed(range(3))]
    for request in requests:
        request.wait()
    return found


@CASES.case
def recv_from_any_rank(rank):
    tensor = numbers(rank)
    if rank == 0:
        dist.send(tensor, 1)
        return tensor
    return [dist.recv(tensor), tensor]


@CASES.case
def batch_isend_irecv(rank):
    found = torch.empty(12)
    for request in dist.batch_isend_irecv([dist.P2POp(dist.isend, numbers(rank), peer(rank)),
                                           dist.P2POp(dist.irecv, found, peer(rank))]):
        request.wait()
    return found


# Objects.

@CASES.case
def all_gather_object(rank):
    found = [None, None]
    dist.all_gather_object(found, {"rank": rank, "more": "x" * rank})
    return found


@CASES.case
def broadcast_object_list(rank):
    found = ["a", {"b": 1}] if rank == 1 else [None, None]
    dist.broadcast_object_list(found, src=1)
    return found


@CASES.case
def gather_object(rank):
    found = [None, None] if rank == 0 else None
    dist.gather_object({"rank": rank}, found, dst=0)
    return found or []


@CASES.case
def scatter_object_list(rank):
    found = [None]
    dist.scatter_object_list(found, ["a", "b"] if rank == 0 else None, src=0)
    return found


@CASES.case
def send_and_recv_object_list(rank):
    found = ["a", 1] if rank == 0 else [None, None]
    if rank == 0:
        dist.send_object_list(found, dst=1)
    else:
        dist.recv_object_list(found, src=0)
    return found


# Barriers and groups.

@CASES.case
def barrier(rank):
    dist.barrier()
    dist.barrier(async_op=True).wait()
    return rank


@CASES.case
def monitored_barrier(rank):
    dist.monitored_barrier(timeout=LONG)
    return rank


def in_group(group, rank):
    tensor = numbers(rank)
    dist.all_reduce(tensor, group=group)
    return [tensor, dist.get_world_size(group), dist.get_rank(group)]


@CASES.case
def new_group_of_all(rank):
    return in_group(dist.new_group(), rank)


@CASES.case
def new_group_of_some(rank):
    groups = [dist.new_group([0]), dist.new_group([1])]
    return in_group(groups[rank], rank)


@CASES.case
def new_group_with_timeout_and_description(rank):
    group = dist.new_group(timeout=LONG, group_desc="for a test")
    return [in_group(group, rank), group.group_desc]


@CASES.case
def new_group_with_local_synchronization(rank):
    return in_group(dist.new_group([rank], use_local_synchronization=True), rank)


@CASES.case
def new_subgroups(rank):
    return in_group(dist.new_subgroups(1)[0], rank)


@CASES.case
def new_subgroups_by_enumeration(rank):
    return in_group(dist.new_subgroups_by_enumeration([[1, 0]])[0], rank)


@CASES.case
def split_group(rank):
    return in_group(dist.split_group(split_ranks=[[0, 1]]), rank)


@CASES.case
def destroy_process_group_of_subgroup(rank):
    group = dist.new_group()
    in_group(group, rank)
    dist.destroy_process_group(group)
    return in_group(None, rank)


@CASES.case
def names_of_groups(rank):
    group = dist.new_group()
    name = dist.distributed_c10d._get_process_group_name(group)
    return [name != "", group.group_name == name, dist.get_process_group_ranks(group), rank]


@CASES.case
def ranks_of_groups(rank):
    group = dist.new_group([1, 0])
    return [dist.get_group_rank(group, rank), dist.get_global_rank(group, 0)]


@CASES.case
def device_of_groups(rank):
    group = dist.new_group()
    return [str(dist.distributed_c10d._get_object_coll_device(group)), rank]


@CASES.case
def timeout_of_group_is_set(rank):
    group = dist.new_group()
    dist.distributed_c10d._set_pg_timeout(LONG, group)
    return in_group(group, rank)


# Requests.

@CASES.case
def request_tells_its_end(rank):
    request = dist.all_reduce(numbers(rank), async_op=True)
    request.wait()
    return [request.is_completed(), request.is_success()]


@CASES.case
def request_waits_with_a_limit(rank):
    tensor = numbers(rank)
    dist.all_reduce(tensor, async_op=True).wait(LONG)
    return tensor


@CASES.case
def future_and_its_callback(rank):
    future = dist.all_reduce(numbers(rank), async_op=True).get_future()
    return future.then(lambda ended: ended.value()[0] * 2).wait()


@CASES.case
def callbacks_that_wait_for_calls(rank):
    def total():
        return dist.all_reduce(numbers(rank, 3), async_op=True).get_future()

    for _ in range(200):
        found = total().then(lambda _: total().wait()[0]).wait()
    return found


# Differentiable calls.

def gradient_of(call):
    def run(rank):
        tensor = numbers(rank).requires_grad_()
        found = call(tensor)
        sum((one * (rank + 1)).sum() for one in found if one.requires_grad).backward()
        return [[one.detach() for one in found], tensor.grad]
    return run


for _name, _call in (
        ("all_reduce", lambda tensor: [differentiable.all_reduce(tensor)]),
        ("all_gather", lambda tensor: list(differentiable.all_gather(tensor))),
        ("reduce_scatter", lambda tensor: [differentiable.reduce_scatter(
            torch.empty(6), list(tensor.split(6)))]),
        ("all_to_all", lambda tensor: list(differentiable.all_to_all(
            [torch.empty(6), torch.empty(6)], list(tensor.split(6))))),
        ("all_to_all_single", lambda tensor: [differentiable.all_to_all_single(
            torch.empty(12), tensor)]),
        ("broadcast", lambda tensor: [differentiable.broadcast(tensor, 0)])):
    CASES.add(f"gradient of {_name}", gradient_of(_call))
