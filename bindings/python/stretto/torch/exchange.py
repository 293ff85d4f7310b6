# SPDX-License-Identifier: Apache-2.0
"""Exchanges of single tensors: push_pull, broadcast, allgather, and the handles on them."""

import hashlib
import numbers
import torch

from stretto import errors, session
from stretto.torch import wire

_MOST_URGENT = 2**31 - 1


class Handle:
    """An exchange in flight. Thread: any one at a time. It keeps the tensors alive; to drop it
    does not end the exchange."""

    def __init__(self, ticket, result, finish=None):
        self._ticket = ticket
        self._result = result
        self._finish = finish

    def done(self) -> bool:
        """True once it has ended; then the result is complete, or wait() raises the error."""
        if not self._ticket.done():
            return False
        try:
            self._complete()
        except errors.Error:
            pass  # Of the exchange, which has ended: for who waits.
        return True

    def wait(self) -> torch.Tensor:
        """Waits for the end and returns the tensor with the result. Raises what went wrong, at
        the latest after the operation timeout."""
        self._ticket.wait()
        self._complete()
        return self._result

    def set_priority(self, priority: int) -> None:
        """What has not left yet is sent by this priority; higher goes first."""
        self._ticket.set_priority(priority)

    def cancel(self) -> None:
        """Ends it with an error, if nothing of it has left."""
        self._ticket.cancel()

    def _complete(self):
        if self._finish is not None:
            self._ticket.wait()  # It has ended; an error is no result to complete.
            self._finish()
            self._finish = None  # Now, so that who asks again after an error gets it again.


def _finish_of(buffer, output, divisor):
    # What remains to be done with what came: averages, and the way back from a buffer.
    if buffer is None:
        if divisor == 1:
            return None
        return lambda: wire.average_in_place(output, divisor)

    def finish():
        if divisor != 1:
            wire.average_in_place(buffer, divisor)
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


def begin(tensor, output, name, average, priority, codec=None, compared=True):
    """Begins to add up `tensor` over all workers into `output`: begin_reduce() by sum or mean."""
    return begin_reduce(tensor, output, name, "mean" if average else "sum", priority, codec,
                        compared)


def begin_reduce(tensor, output, name, rule, priority, codec=None, compared=True):
    """Begins to make the sum, mean, min, max or product of `tensor` over all workers in `output`
    (the same tensor, or one of its shape and type), and returns the handle. `codec` as in
    Session.declare(), for sums and means. Unless `compared`, tensors of other shapes and as many
    elements may share the name."""
    kind = wire.name_as_it_is(tensor)
    if kind is None:
        wire.check(tensor)
    check_call(name, priority)
    now = session.current()
    elements = tensor.numel()
    shape = wire.shape_of(tensor) if compared else ""
    if now.alone or elements == 0:
        if not now.alone:  # Others may have elements: they would wait for what nobody sends.
            now.declare(name, wire.NAMES[wire.type_on_wire(tensor)], 0, shape=shape)
        if output is not tensor:
            output.copy_(tensor)
        return Handle(session.Done(), output)
    buffer = None
    if kind is None or not (output is tensor or wire.goes_as_it_is(output)):
        buffer = wire.flat_buffer(tensor)
        wire.load(buffer, tensor)
        kind = wire.NAMES[buffer.dtype]
    source, target = (tensor, output) if buffer is None else (buffer, buffer)
    # A codec on the way back is for the values that are wanted: f16 has a mean's, not a sum's.
    encoded = kind == "f32" and now.may_encode(codec)
    divisor = 1
    # Whose shares are in a round of an elastic job only its server knows for each part.
    if rule == "mean" and not (encoded or kind in wire.NARROW or now.elastic):
        rule, divisor = "sum", now.size
    declared = now.declare(name, kind, elements, rule=rule, codec=codec, shape=shape)
    route = (declared, source.data_ptr(), target.data_ptr(), declared.bytes)
    ticket = now.push_pull([route], priority, (source, target))
    return Handle(ticket, output, _finish_of(buffer, output, divisor))


def unnamed(tensor, average=False):
    """The name that unnamed tensors of its size share, those to be averaged and the others. Workers
    must exchange them in the same order."""
    return f"unnamed.{tensor.dtype}.{tensor.numel()}{'.mean' if average else ''}"


def begin_broadcast(tensor, root, name, compared=True):
    """Begins to make `tensor` what it is at the worker `root`, in place; returns the handle.
    `compared` as in begin()."""
    wire.check(tensor)
    now = session.current()
    if not isinstance(root, numbers.Integral) or not 0 <= root < now.size:
        raise ValueError(f"the root's rank is {root!r}; there are ranks 0 to {now.size - 1}")
    if now.alone:
        return Handle(session.Done(), tensor)
    direct = tensor.device.type == "cpu" and tensor.is_contiguous()
    data = tensor.detach() if direct else tensor.detach().to("cpu").contiguous()
    # Types that cannot be added up can still be copied.
    kind, elements = wire.NAMES.get(data.dtype), data.numel()
    if kind is None:
        kind, elements = "u8", data.numel() * data.element_size()  # Its shape names the type.
    declared = now.declare(name, kind, elements, shape=wire.shape_of(data) if compared else "")
    if elements == 0:
        return Handle(session.Done(), tensor)
    ticket = now.broadcast(declared, data.data_ptr(), declared.bytes, root, data)

    def finish():
        with torch.no_grad():
            tensor.copy_(data)

    return Handle(ticket, tensor, None if direct else finish)


def digest_of(text):
    """48 bits of the text's SHA-256, as a number: it fits what is gathered."""
    return int.from_bytes(hashlib.sha256(text.encode("utf-8")).digest()[:6], "big")


def _gather(mine, name):
    # One row of some whole numbers from every worker, by seat; of who is lost there are zeros.
    now = session.current()
    rows = torch.zeros(now.seats, len(mine), dtype=torch.int64)
    rows[now.seat] = torch.tensor(mine)
    return begin(rows, rows, name, False, 0).wait()


_LONGEST_TEXT = 256  # Bytes of a worker's words.


def _gather_texts(mine, name):
    # One short text from every worker, by seat.
    now = session.current()
    data = mine.encode("utf-8", "replace")[:_LONGEST_TEXT]
    rows = torch.zeros(now.seats, _LONGEST_TEXT, dtype=torch.uint8)
    rows[now.seat, :len(data)] = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    begin(rows, rows, name, False, 0).wait()
    return [bytes(row.tolist()).rstrip(b"\0").decode("utf-8", "replace") for row in rows]


def gather(tensor, name):
    """The tensors of all workers, one after the other along their first dimension, and how many
    rows each gave. Raises Mismatch at all of them if types or other dimensions differ."""
    now = session.current()
    mine = tensor.detach().to("cpu").contiguous()
    what = f"{mine.dtype} of shape [rows{''.join(f', {size}' for size in mine.shape[1:])}]"
    found = _gather([mine.shape[0], digest_of(what)], f"{name}.rows")
    rows = found[:, 0].tolist()
    here = found if not now.elastic else found[found[:, 1] != 0]
    if not here[:, 1].all():
        raise errors.Mismatch(f"worker {found[:, 1].tolist().index(0)} sits out until all workers "
                              "have called join(), and takes part in sums only",
                              operation=f"allgather '{name}'")
    if len(set(here[:, 1].tolist())) > 1:
        texts = enumerate(_gather_texts(what, f"{name}.described"))
        raise errors.Mismatch("only the number of rows may differ, but "
                              + ", ".join(f"worker {rank} has {text}" for rank, text in texts),
                              operation=f"allgather '{name}'")
    everybody = torch.zeros((sum(rows), *mine.shape[1:]), dtype=mine.dtype)
    first = sum(rows[:now.seat])
    everybody[first:first + mine.shape[0]] = mine
    if everybody.numel():
        # As bytes: what is added to zeros stays what it was, whatever it means.
        flat = wire.as_bytes(everybody)
        begin(flat, flat, f"{name}.{flat.numel()}", False, 0).wait()
    return everybody.to(tensor.device), rows
