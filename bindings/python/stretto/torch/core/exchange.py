# SPDX-License-Identifier: Apache-2.0
"""Exchanges of single tensors: push_pull, broadcast, allgather, and the handles on them."""

import hashlib
import numbers
import operator
import weakref

import torch

from stretto import closing, done, errors, session, unfinished
from stretto.torch.core import size_classes, ways, wire

_MOST_URGENT = 2**31 - 1


class Handle:
    """An exchange in flight. Thread: any one at a time. It keeps the tensors alive; dropping it
    does not end the exchange."""

    def __init__(self, ticket, result, finish=None):
        self._ticket = ticket
        self._result = result
        self._finish = None if finish is None else unfinished.Once(finish)

    def done(self) -> bool:
        """True once it has ended; then the result is complete, or wait() raises the error."""
        if not self._ticket.done():
            return False
        try:
            self._complete()
        except errors.Error:
            pass  # The error of the ended exchange; wait() raises it.
        return True

    def wait(self) -> torch.Tensor:
        """Waits for the end and returns the tensor with the result. Raises its error, at the latest
        after the operation timeout."""
        try:
            self._ticket.wait()
        except errors.NotFinite as error:
            if error.is_rejected:
                self._finish_once()  # It is the others' result.
            raise
        self._complete()
        return self._result

    def set_priority(self, priority: int) -> None:
        """Sends the parts still queued by this priority; higher goes first."""
        self._ticket.set_priority(priority)

    def cancel(self) -> None:
        """Ends it with an error, if no part of it was sent."""
        self._ticket.cancel()

    def _complete(self):
        if self._finish is not None:
            self._ticket.wait()  # It has ended; an error is no result to complete.
            self._finish_once()

    def _finish_once(self):
        if self._finish is not None:
            self._finish()
            self._finish = None  # Now, so that a later call gets the error again.


class Together:
    """Tickets of one exchange, as one. Thread: as a ticket."""

    def __init__(self, tickets):
        self._tickets = tickets

    def done(self):
        """True once all have ended."""
        return all(ticket.done() for ticket in self._tickets)

    def wait(self):
        """Waits for all. Raises the first error in their order."""
        for ticket in self._tickets:
            ticket.wait()

    def set_priority(self, priority):
        """Sets the priority of each ticket."""
        for ticket in self._tickets:
            ticket.set_priority(priority)

    def cancel(self):
        """Ends each ticket of which no part was sent, with an error."""
        for ticket in self._tickets:
            ticket.cancel()


def _finish_of(cut, buffer, output, divisor, ticket):
    # The processing of the received data: averages, and the copy from a buffer.
    if buffer is None and divisor == 1 and not cut.is_copied:
        return None
    came = output if buffer is None else buffer

    def finish():
        cut.finish()
        if divisor != 1:  # The number of contributors.
            wire.average_in_place(came, ticket.info().contributors or divisor)
        if buffer is not None:
            wire.store(buffer, output)

    return finish


def check_call(name, priority):
    """TypeError or ValueError unless these are a name and a priority."""
    if not isinstance(name, str):
        raise TypeError(f"the name is a {type(name).__name__}, wanted a str")
    if not name:
        raise ValueError("the name is empty; all workers must use one name for one exchange")
    whole = isinstance(priority, int) or isinstance(priority, numbers.Integral)
    if not whole or abs(priority) > _MOST_URGENT:
        raise ValueError(f"the priority is {priority!r}, wanted a whole number from "
                         f"-{_MOST_URGENT} to {_MOST_URGENT}")


def begin(tensor, output, name, average, priority, codec=None, compared=True, way=None):
    """Starts to add up `tensor` over all workers into `output`: begin_reduce() by sum or mean."""
    return begin_reduce(tensor, output, name, "mean" if average else "sum", priority, codec,
                        compared, way)


def begin_reduce(tensor, output, name, rule, priority, codec=None, compared=True, way=None):
    """Starts the sum, mean, min, max or product of `tensor` over all workers in `output` (the same
    tensor, or one of its shape and type), and returns the handle. `codec` as in Session.declare(),
    for sums and means. Unless `compared`, tensors of that type and of any size may share the name,
    and the caller ensures that all workers' have one size. `way` is one of ways.EXCHANGES, or
    None."""
    kind = wire.name_as_it_is(tensor)
    if kind is None:
        wire.check(tensor)
    check_call(name, priority)
    ways.check(way)
    now = session.current()
    elements = tensor.numel()
    shape = wire.shape_of(tensor) if compared else ""
    if now.alone or elements == 0:
        if not now.alone:  # Others may have elements, and would wait forever.
            label = name if compared else f"{name}.0"
            now.declare(label, wire.NAMES[wire.type_on_wire(tensor)], 0, shape=shape)
        if output is not tensor:
            output.copy_(tensor)
        return Handle(done.Done(), output)
    buffer = None
    wide = rule == "mean" and way is None and _is_widened(tensor, now)
    if wide and tensor.dtype in wire.NAMES:
        shape = f"{wire.type_name(tensor)} {shape}".strip()  # Else it would be as a wide one.
    if kind is None or wide or not (output is tensor or wire.goes_as_it_is(output)):
        buffer = wire.flat_buffer(tensor, wide)
        wire.load(buffer, tensor)
        kind = wire.NAMES[buffer.dtype]
    source, target = (tensor, output) if buffer is None else (buffer, buffer)
    # A codec for results must suit the final values: f16 suits a mean, not a sum.
    encoded = kind == "f32" and now.may_encode(codec)
    divisor = 1
    # In an elastic job only the server knows the contributors of each part, and in a round that may
    # end early only the root.
    divides_here = not (encoded or kind in wire.NARROW or now.elastic or closing.is_one(way))
    if rule == "mean" and divides_here:
        rule, divisor = "sum", now.size
    cut = _cut(source, target, name, compared, size_classes.serve(now, way, kind, codec))
    routes = cut.routes(lambda label, size: now.declare(
        label, kind, size, rule=rule, codec=codec, shape=shape, exchange=way))
    ticket = now.push_pull(routes, priority, cut.memory)
    return Handle(ticket, output, _finish_of(cut, buffer, output, divisor, ticket))


def _cut(source, target, name, compared, in_pieces):
    # Unless `compared`, the name is for all sizes.
    if not compared and in_pieces:
        return size_classes.Cut.of_any_size(source, target, name)
    elements = source.numel()
    return size_classes.Cut(source, target,
                            [(name if compared else f"{name}.{elements}", elements)])


def _is_widened(tensor, now):
    # Without servers the workers compute means of narrow types in wider ones.
    return now.place.servers == 0 and wire.NAMES[wire.type_on_wire(tensor)] in wire.NARROW


def unnamed(tensor, average=False):
    """The name shared by unnamed tensors of its type, with a separate one for averages. Workers
    must exchange them in the same order."""
    return f"unnamed.{tensor.dtype}{'.mean' if average else ''}"


class _Sizes:
    # The sizes of all workers in a tensor without a name: similar sizes share declared tensors.

    def __init__(self, tensor, name):
        self._job = session.current()
        rows = torch.zeros(self._job.seats, dtype=torch.int64)
        rows[self._job.seat] = 1 + tensor.numel()  # A lost worker's row is 0.
        self._name = name
        self._handle = begin(rows, rows, f"{name}.sizes", False, 0)

    def done(self):
        """True once they are known."""
        return self._handle.done()

    def wait(self):
        """Raises Mismatch unless they are equal."""
        sizes = {seat: rows - 1 for seat, rows in enumerate(self._handle.wait().tolist()) if rows}
        if len(set(sizes.values())) == 1:
            return
        told = ", ".join(f"worker {seat} has {size}" for seat, size in sizes.items())
        error = errors.Mismatch(f"{told} elements in a tensor without a name; all workers need "
                                "equal sizes in the same order, or names", operation=self._name)
        _mismatched.setdefault(self._job, {})[self._name] = error
        raise error

    def set_priority(self, priority):
        """Does nothing: it is small."""

    def cancel(self):
        """Does nothing: others may wait for it."""


# By job and name: rounds of unequal sizes may be open, and later calls would join them.
_mismatched: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def check_unnamed(tensor, name):
    """Waits for all workers. Raises Mismatch unless they have the same number of elements in an
    unnamed tensor, before its exchange by the name that unnamed tensors share."""
    if not session.current().alone:
        _Sizes(tensor, name).wait()


def begin_unnamed(tensor, name, start):
    """Calls start(), which starts the exchange of an unnamed tensor and returns its handle, and
    returns a handle that raises Mismatch for unequal sizes. Each later call raises it, too."""
    now = session.current()
    if now.alone:
        return start()
    if name in _mismatched.get(now, {}):
        raise _mismatched[now][name]
    sizes, handle = _Sizes(tensor, name), start()
    return Handle(Together([sizes, handle]), handle._result)


def gradient_name(name):
    """The name for the exchange of a named exchange's gradient; None for None."""
    return None if name is None else f"{name}.gradient"


def check_root(root):
    """ValueError unless the root is a valid rank."""
    now = session.current()
    # In an elastic job the workers determine together which of them are left.
    size = now.seats if now.alone or now.elastic else now.size
    try:
        exists = 0 <= operator.index(root) < size
    except TypeError:
        exists = False
    if not exists:
        raise ValueError(f"the root's rank is {root!r}; there are ranks 0 to {size - 1}")


def begin_broadcast(tensor, root, name, compared=True):
    """Starts to copy `tensor` from the worker `root`, in place; returns the handle. `compared` as
    in begin(). In an elastic job it has ended when this returns."""
    wire.check(tensor)
    check_root(root)
    now = session.current()
    if now.alone:
        return Handle(done.Done(), tensor)
    data = wire.plain_copy(tensor)
    direct = tensor.is_cpu and data.data_ptr() == tensor.data_ptr()

    def store(values):
        with torch.no_grad():
            tensor.copy_(values)

    if now.elastic:
        store(from_root(root, name,
                        lambda is_root: begin_copy(data, root, is_root, name, compared).wait()))
        return Handle(done.Done(), tensor)
    copy = begin_copy(data, root, now.rank == root, name, compared)
    return Handle(copy, tensor, None if direct else lambda: store(data))


def begin_copy(data, root, is_root, name, compared=True):
    """Starts to copy a contiguous CPU tensor from the worker `root`, and returns the handle: on
    that tensor itself, or in an elastic job on a new one, for the root may be lost midway."""
    now = session.current()
    shape = wire.shape_of(data) if compared else ""
    if now.elastic:
        return _begin_sum_of_root(data, is_root, f"{name}.of", shape, compared)
    # Types that cannot be added up can still be copied.
    kind, flat = wire.NAMES.get(data.dtype), data.view(-1)
    if kind is None:
        kind, flat = "u8", wire.as_bytes(data)  # Its shape names the type.
    if flat.numel() == 0:
        now.declare(name if compared else f"{name}.{kind}.0", kind, 0, shape=shape)
        return Handle(done.Done(), data)
    in_pieces = size_classes.serve(now, None, kind, None)
    cut = _cut(flat, flat, name if compared else f"{name}.{kind}", compared, in_pieces)
    routes = cut.routes(lambda label, size: now.declare(label, kind, size, shape=shape))
    tickets = [now.broadcast(declared, address, bytes_, root, cut.memory)
               for declared, address, _, bytes_ in routes]
    return Handle(_together(tickets), data, cut.finish if cut.is_copied else None)


def _together(tickets):
    return tickets[0] if len(tickets) == 1 else Together(tickets)


def _begin_sum_of_root(data, is_root, name, shape, compared):
    # As bytes, to which the others add zeros: a round that loses its root is complete all the same.
    now = session.current()
    flat = wire.as_bytes(data)
    result = torch.empty_like(data)
    shape = f"{wire.type_name(data)} {shape}".strip() if compared else ""
    if flat.numel() == 0:
        now.declare(name if compared else f"{name}.0", "u8", 0, shape=shape)
        return Handle(done.Done(), result)
    source = flat if is_root else torch.zeros_like(flat)
    cut = _cut(source, wire.as_bytes(result), name, compared,
               size_classes.serve(now, None, "u8", None))
    routes = cut.routes(lambda label, size: now.declare(label, "u8", size, shape=shape))
    ticket = now.push_pull(routes, 0, cut.memory)
    return Handle(ticket, result, cut.finish if cut.is_copied else None)


def attendance(label, mine=()):
    """Some whole numbers from every member: {seat: numbers}. The result is the same at all that are
    left; all of them call it."""
    rows = _gather([1, *mine], f"Attendance.{label}.{len(mine)}")
    return {seat: row[1:] for seat, row in enumerate(rows.tolist()) if row[0]}


def wait_for_mean(ticket):
    """Waits for the gradients' mean; if this worker's was rejected it is the others'."""
    try:
        ticket.wait()
    except errors.NotFinite as error:
        if not error.is_rejected:
            raise


def from_root(root, label, give):
    """The result of give(is_root), which all workers call for an exchange with the root of rank
    `root`. In an elastic job, which may lose the root meanwhile, it is repeated until the root is
    present at its end; so it must have no effect but its result."""
    now = session.current()
    if not now.elastic:
        return give(now.rank == root)
    here = attendance(label, [root])
    while True:
        seats = now.in_order(here)
        _check_one_root(here, label)
        if root >= len(seats):
            raise errors.MembersChanged(
                f"it was to come from worker {root}, and only {len(seats)} are left",
                operation=f"broadcast '{label}'")
        result = give(seats[root] == now.seat)
        here = attendance(label, [root])
        if seats[root] in here:
            return result


def _check_one_root(here, label):
    # Otherwise there could be several roots, or none.
    first = min(here)
    for seat, [root] in here.items():
        if root != here[first][0]:
            raise errors.Mismatch(f"worker {seat} broadcasts from root {root}, worker {first} "
                                  f"from root {here[first][0]}", operation=f"broadcast '{label}'")


def digest_of(text):
    """48 bits of the text's SHA-256, as a number: it fits the gathered type."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:6], "big")


def _gather(mine, name):
    # One row of some whole numbers from every worker, by seat; a lost worker's row is zero.
    now = session.current()
    rows = torch.zeros(now.seats, len(mine), dtype=torch.int64)
    if now.seat is not None:
        rows[now.seat] = torch.tensor(mine)
    return begin(rows, rows, name, False, 0).wait()


_LONGEST_TEXT = 256  # Bytes of a worker's text.


def _gather_texts(mine, name):
    # One short text from every worker, by seat.
    now = session.current()
    data = mine.encode("utf-8", "replace")[:_LONGEST_TEXT]
    rows = torch.zeros(now.seats, _LONGEST_TEXT, dtype=torch.uint8)
    rows[now.seat, :len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    begin(rows, rows, name, False, 0).wait()
    return [bytes(row.tolist()).rstrip(b"\0").decode("utf-8", "replace") for row in rows]


def gather(tensor, name):
    """The tensors of all workers, concatenated along their first dimension, and the number of rows
    of each. Raises Mismatch at all of them if types or other dimensions differ."""
    now = session.current()
    mine = tensor.detach().to("cpu").contiguous()
    what = f"{mine.dtype} of shape [rows{''.join(f', {size}' for size in mine.shape[1:])}]"
    while True:
        found = _gather([mine.shape[0], digest_of(what)], f"{name}.rows")
        _check_alike(found, what, name, now.elastic)
        rows = found[:, 0].tolist()
        everybody = _gather_rows(mine, rows, name)
        # The row of a worker lost in between may be missing.
        if not now.elastic or set(found[:, 1].nonzero().flatten().tolist()) <= set(
                attendance(name)):
            return everybody.to(tensor.device), rows


def _check_alike(found, what, name, elastic):
    # Raises Mismatch unless all members gather tensors of one kind.
    here = found if not elastic else found[found[:, 1] != 0]
    if not here[:, 1].all():
        raise errors.Mismatch(f"worker {found[:, 1].tolist().index(0)} sits out until all workers "
                              "have called join(), and takes part in sums only",
                              operation=f"allgather '{name}'")
    if len(set(here[:, 1].tolist())) > 1:
        texts = enumerate(_gather_texts(what, f"{name}.described"))
        raise errors.Mismatch("only the number of rows may differ, but "
                              + ", ".join(f"worker {rank} has {text}" for rank, text in texts
                                          if text), operation=f"allgather '{name}'")


def _gather_rows(mine, rows, name):
    seat = session.current().seat
    everybody = torch.zeros((sum(rows), *mine.shape[1:]), dtype=mine.dtype)
    first = sum(rows[:seat])
    everybody[first:first + mine.shape[0]] = mine
    if everybody.numel():
        # As bytes: adding zeros preserves them, whatever their type.
        flat = wire.as_bytes(everybody)
        begin(flat, flat, name, False, 0, compared=False).wait()
    return everybody
