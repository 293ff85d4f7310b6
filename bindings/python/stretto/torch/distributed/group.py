# SPDX-License-Identifier: Apache-2.0
"""The ProcessGroup of backend "stretto": the calls of torch.distributed as calls of a
_core.Group."""

import time

import torch
import torch.distributed as dist
from torch.autograd import Variable

from stretto import _core, errors, session
from stretto.torch.core import keeping, wire
from stretto.torch.distributed import compiling, forms, memory, naming, sparse, works

_OPS = ((dist.ReduceOp.SUM, "sum"), (dist.ReduceOp.AVG, "average"), (dist.ReduceOp.MIN, "min"),
        (dist.ReduceOp.MAX, "max"), (dist.ReduceOp.PRODUCT, "product"),
        (dist.ReduceOp.BAND, "and"), (dist.ReduceOp.BOR, "or"), (dist.ReduceOp.BXOR, "xor"))
_PRIORITY = 0
_MONITOR_TAG = 1 << 63  # Beyond the tags of users, which are C ints.


def group_of(worker, ranks, options):
    """The _core.Group of these ranks of the job; without ranks, of all."""
    return _core.Group.of(worker, ranks, options.exchange, options.deterministic)


def _op_of(options):
    if options is None:
        return "sum"
    for op, name in _OPS:
        if options.reduceOp == op:
            return name
    raise errors.Unsupported("a reduction that is none of "
                             f"{', '.join(name for _, name in _OPS)}")


def _root_of(options, size):
    root = 0 if options is None else options.rootRank
    if not 0 <= root < size:
        raise errors.InvalidArgument(f"root {root} in a group of {size}, wanted a member's number")
    return root


@compiling.untraced
@forms.short
class ProcessGroup(naming.NamedGroup):
    """Thread: any, but all members make the same calls in the same order. Options may be None, for
    the defaults of torch.distributed. Errors in the caller's arguments are raised at once; errors
    that only the members together can detect end the Work."""

    def __init__(self, group, timeout):
        super().__init__(group.rank, group.size)
        self._group = group
        self._limit = timeout.total_seconds()

    def getBackendName(self):  # pylint: disable=invalid-name
        """The name in the log of torch.distributed."""
        return "stretto"

    def set_timeout(self, timeout):
        """Replaces the timeout of the group, for calls from now on."""
        self._limit = timeout.total_seconds()

    def _work(self, what, ticket, result, *pieces):
        return self._work_of(what, [ticket], result, pieces)

    def _work_of(self, what, tickets, result, pieces):
        stores = [piece.store for piece in pieces if piece.store is not None]
        return works.Work(what, tickets, self._limit, result, stores)

    def allreduce(self, tensors, opts=None):
        """The tensor becomes the reduction of all members' tensors."""
        is_own = works.is_called_by_program()
        if not is_own and session.is_initialized():
            keeping.check_restored(session.current())  # A DistributedDataParallel makes a step.
        if len(tensors) == 1 and tensors[0].layout is torch.sparse_coo:
            work = self._added(tensors, _op_of(opts))
        else:
            work = self._reduced("all_reduce", [memory.one(tensors)], tensors, opts)
        if not is_own:
            _raise_in_backward(work)
        return work

    def allreduce_coalesced(self, tensors, opts=None):
        """Like allreduce(), for several tensors of one type."""
        return self._reduced("all_reduce_coalesced", memory.some(tensors), tensors, opts)

    def _reduced(self, what, dense, result, opts):
        op = _op_of(opts)
        kind = memory.reduced_as(dense[0], op)
        piece = memory.changed(dense, kind)
        ticket = self._group.all_reduce(wire.NAMES[kind], piece.place, piece.place, op, _PRIORITY,
                                        piece)
        return self._work(what, ticket, result, piece)

    def _added(self, tensors, op):
        # Sums sparse tensors. Waits until the members have exchanged their numbers of entries.
        sparse.check(op)
        entries = sparse.Entries(tensors[0], self.size())
        self._allgather_base(entries.counts, entries.count).wait()
        tickets, pieces = [], []
        for given, wanted in entries.padded():
            source, target = memory.given([given]), memory.wanted([wanted])
            tickets.append(self._group.all_gather(source.place, target.place, _PRIORITY,
                                                  (source, target)))
            pieces.append(target)
        divisor = self.size() if op == "average" else 1
        pieces.append(memory.Piece(entries.counts, lambda: entries.store(divisor)))
        return self._work_of("all_reduce", tickets, tensors, pieces)

    def reduce(self, tensors, opts=None):
        """The root's tensor becomes the reduction of all; other members' tensors stay unchanged."""
        tensor, op, root = memory.one(tensors), _op_of(opts), _root_of(opts, self.size())
        kind = memory.reduced_as(tensor, op)
        is_root = root == self.rank()
        piece = (memory.changed if is_root else memory.given)([tensor], kind)
        ticket = self._group.reduce(wire.NAMES[kind], piece.place,
                                    piece.place if is_root else memory.NOTHING, root, op,
                                    _PRIORITY, piece)
        return self._work("reduce", ticket, tensors, piece)

    def broadcast(self, tensors, opts=None):
        """The tensor becomes the root's tensor."""
        piece = memory.changed([memory.one(tensors)])
        ticket = self._group.broadcast(piece.place, _root_of(opts, self.size()), _PRIORITY, piece)
        return self._work("broadcast", ticket, tensors, piece)

    def allgather(self, output_tensors, input_tensors, opts=None):
        """The tensors of the only list of outputs become the members' tensors."""
        del opts
        source = memory.one(input_tensors)
        outputs = memory.only(output_tensors)
        outputs = memory.equal(outputs, self.size(), source)
        return self._gathered("all_gather", memory.given([source]), memory.wanted(outputs),
                              output_tensors[0])

    def _allgather_base(self, output, input, opts=None):  # pylint: disable=redefined-builtin
        """The output becomes the inputs of all members, concatenated by rank."""
        del opts
        source, target = memory.one([input]), memory.one([output])
        memory.alike([source, target])
        return self._gathered("all_gather_into_tensor", memory.given([source]),
                              memory.wanted([target]), [output])

    def allgather_coalesced(self, output_lists, input_list, opts=None):
        """Gathers each member's inputs: outputs[member][tensor]."""
        del opts
        inputs = memory.dense(input_list)
        outputs = [tensor for one in output_lists for tensor in memory.dense(one)]
        result = output_lists if len(output_lists) > 1 else output_lists[0]
        return self._gathered("all_gather_coalesced", memory.given(inputs),
                              memory.wanted(outputs), result)

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        """Each output becomes its input of all members, concatenated by rank. One exchange
        transfers all."""
        del opts
        inputs, parts = memory.dense(inputs), memory.parts(outputs, self.size())
        memory.fit(parts, inputs)
        targets = [part for of_member in parts for part in of_member]
        if not memory.have_one_type(inputs + targets):
            inputs, targets = memory.as_bytes(inputs), memory.as_bytes(targets)
        return self._gathered("all_gather_into_tensor_coalesced", memory.given(inputs),
                              memory.wanted(targets), outputs)

    def _gathered(self, what, source, target, result):
        ticket = self._group.all_gather(source.place, target.place, _PRIORITY, (source, target))
        return self._work(what, ticket, result, target)

    def gather(self, output_tensors, input_tensors, opts=None):
        """At the root the tensors of the only list of outputs become the members' tensors; other
        members pass no list."""
        source, root = memory.one(input_tensors), _root_of(opts, self.size())
        pieces, target = [memory.given([source])], memory.NOTHING
        if root == self.rank():
            outputs = memory.only(output_tensors)
            pieces.append(memory.wanted(memory.equal(outputs, self.size(), source)))
            target = pieces[1].place
        ticket = self._group.gather(pieces[0].place, target, root, _PRIORITY, pieces)
        return self._work("gather", ticket, output_tensors[0] if output_tensors else [], *pieces)

    def scatter(self, output_tensors, input_tensors, opts=None):
        """The output becomes this member's tensor of the root's only list of inputs; other members
        pass no list."""
        target, root = memory.one(output_tensors), _root_of(opts, self.size())
        pieces, source = [memory.wanted([target])], memory.NOTHING
        if root == self.rank():
            inputs = memory.only(input_tensors)
            pieces.append(memory.given(memory.equal(inputs, self.size(), target)))
            source = pieces[1].place
        ticket = self._group.scatter(source, pieces[0].place, root, _PRIORITY, pieces)
        return self._work("scatter", ticket, output_tensors, pieces[0])

    def reduce_scatter(self, output_tensors, input_tensors, opts=None):
        """The output becomes the reduction of all members' inputs for this member."""
        target = memory.one(output_tensors)
        inputs = memory.only(input_tensors)
        inputs = memory.equal(inputs, self.size(), target)
        ticket, piece = self._scattered(inputs, [target], opts)
        return self._work("reduce_scatter", ticket, output_tensors, piece)

    def _reduce_scatter_base(self, output, input, opts=None):  # pylint: disable=redefined-builtin
        """Like reduce_scatter(), with concatenated inputs."""
        ticket, piece = self._scattered([memory.one([input])], [memory.one([output])], opts)
        return self._work("reduce_scatter_tensor", ticket, [output], piece)

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        """Like _reduce_scatter_base(), for several outputs, each with its input. Outputs of one
        type share one exchange."""
        outputs, parts = memory.dense(outputs), memory.parts(inputs, self.size())
        memory.fit(parts, outputs)
        tickets, pieces = [], []
        for kind in dict.fromkeys(tensor.dtype for tensor in outputs):
            chosen = [at for at, tensor in enumerate(outputs) if tensor.dtype is kind]
            ticket, piece = self._scattered([of_member[at] for of_member in parts
                                             for at in chosen],
                                            [outputs[at] for at in chosen], opts)
            tickets.append(ticket)
            pieces.append(piece)
        return self._work_of("reduce_scatter_tensor_coalesced", tickets, outputs, pieces)

    def _scattered(self, inputs, targets, opts):
        op = _op_of(opts)
        kind = memory.reduced_as(targets[0], op)
        source, wanted = memory.given(inputs, kind), memory.wanted(targets, kind)
        ticket = self._group.reduce_scatter(wire.NAMES[kind], source.place, wanted.place, op,
                                            _PRIORITY, (source, wanted))
        return ticket, wanted

    def alltoall(self, output_tensors, input_tensors, opts=None):
        """Each output becomes a member's input for this member."""
        del opts
        outputs, inputs = memory.dense(output_tensors), memory.dense(input_tensors)
        for tensors in (outputs, inputs):
            if len(tensors) != self.size():
                raise errors.InvalidArgument(f"{len(tensors)} tensors for {self.size()} members, "
                                             "wanted one for each")
        return self._swapped("all_to_all", memory.given(inputs), memory.wanted(outputs),
                             [memory.place_of(tensor)[1] for tensor in inputs],
                             [memory.place_of(tensor)[1] for tensor in outputs], output_tensors)

    def alltoall_base(self, output, input, output_split_sizes,  # pylint: disable=redefined-builtin
                      input_split_sizes, opts=None):
        """Like alltoall(), with rows of one tensor: the sizes give the number of rows for each
        member; without sizes the numbers are equal."""
        del opts
        source, target = memory.one([input]), memory.one([output])
        return self._swapped("all_to_all_single", memory.given([source]),
                             memory.wanted([target]), self._split(source, input_split_sizes),
                             self._split(target, output_split_sizes), [output])

    def _swapped(self, what, source, target, give, take, result):
        source = memory.apart(source, target)
        ticket = self._group.all_to_all(source.place, target.place, give, take, _PRIORITY,
                                        (source, target))
        return self._work(what, ticket, result, target)

    def _split(self, tensor, sizes):
        # Bytes for each member.
        rows = tensor.shape[0] if tensor.dim() else 1
        if not sizes:
            if rows % self.size():
                raise errors.InvalidArgument(f"{rows} rows for {self.size()} members, wanted as "
                                             "many for each")
            sizes = [rows // self.size()] * self.size()
        if len(sizes) != self.size() or sum(sizes) != rows:
            raise errors.InvalidArgument(f"sizes {list(sizes)} of {rows} rows for {self.size()} "
                                         "members: wanted one for each, and their sum to be that "
                                         "of the rows")
        row = tensor.numel() // rows * tensor.element_size() if rows else 0
        return [size * row for size in sizes]

    def send(self, tensors, dst, tag=0):
        """Sends to one member; ends when that member has received the tensor."""
        piece = memory.given([memory.one(tensors)])
        ticket = self._group.send(piece.place, dst, tag, _PRIORITY, piece)
        return self._work("send", ticket, tensors, piece)

    def recv(self, tensors, src, tag=0):
        """Receives from one member."""
        piece = memory.wanted([memory.one(tensors)])
        ticket = self._group.receive(piece.place, src, tag, _PRIORITY, piece)
        return self._work("recv", ticket, tensors, piece)

    def recv_anysource(self, tensors, tag=0):
        """Receives from the other member, in a group of two. Raises Unsupported in a larger one."""
        if self.size() > 2:
            raise errors.Unsupported("backend 'stretto' receives from a rank that is named: give "
                                     "src=", operation="recv")
        work = self.recv(tensors, 1 - self.rank(), tag)
        work.source = 1 - self.rank()
        return work

    def barrier(self, opts=None):
        """Ends when all members have called it."""
        del opts
        return self._work("barrier", self._group.barrier(_PRIORITY), [])

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        """Like barrier().wait(). If members have not called it in time, Timeout at member 0 names
        them; unless `wait_all_ranks`, only the first of them."""
        limit = self._limit if timeout is None else timeout.total_seconds()
        deadline = time.monotonic() + limit
        others = range(1, self.size()) if self.rank() == 0 else (0,)
        if self.rank():
            self._token(self._group.send, 0)
        tickets = {other: self._token(self._group.receive, other) for other in others}
        missing = [other for other, ticket in tickets.items()
                   if not ticket.wait_for(deadline - time.monotonic())]
        if missing:
            who = missing if wait_all_ranks else missing[:1]
            raise errors.Timeout(f"rank {', '.join(map(str, who))} did not come within {limit:g} s",
                                 operation="monitored_barrier")
        if self.rank() == 0:
            for other in others:
                self._token(self._group.send, other)

    def _token(self, call, other):
        piece = memory.Piece(torch.zeros(1, dtype=torch.uint8))
        return call(piece.place, other, _MONITOR_TAG, _PRIORITY, piece)

    # The names of PyTorch 2.14.
    all_gather_single = _allgather_base
    all_gather_single_coalesced = allgather_into_tensor_coalesced
    reduce_scatter_single = _reduce_scatter_base
    reduce_scatter_single_coalesced = reduce_scatter_tensor_coalesced
    all_to_all_single = alltoall_base

    def gather_single(self, output, input, opts=None):  # pylint: disable=redefined-builtin
        """The root's output becomes the inputs of all members, concatenated by rank."""
        source, root = memory.one([input]), _root_of(opts, self.size())
        pieces, target = [memory.given([source])], memory.NOTHING
        if root == self.rank():
            memory.fit(memory.parts([output], self.size()), [source])
            pieces.append(memory.wanted([memory.one([output])]))
            target = pieces[1].place
        ticket = self._group.gather(pieces[0].place, target, root, _PRIORITY, pieces)
        return self._work("gather_single", ticket, [output], *pieces)


def _raise_in_backward(work):
    # A DistributedDataParallel waits for the call's future at the end of backward(), which turns
    # any error into a RuntimeError. A wait before that end raises the original error.
    try:
        Variable._execution_engine.queue_callback(work.wait)  # pylint: disable=protected-access
    except RuntimeError:
        pass  # No backward() is running.
