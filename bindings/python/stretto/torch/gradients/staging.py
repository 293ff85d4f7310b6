# SPDX-License-Identifier: Apache-2.0
"""Gradients on a GPU, on their way to the network: a thread copies them into pinned memory, on a
stream of its own beside the computation, the most urgent first, and begins each exchange when its
copy is there. Nothing else waits for the copies.
"""

import itertools
import queue
import threading
import time
import weakref

import torch

PATIENCE = 5.0  # Seconds for what is being copied, when all ends.


class CudaCopies:
    """Copies between one GPU and pinned memory, on a stream of their own."""

    def __init__(self, device):
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def mark(self):
        """What has been computed so far, for to_host()."""
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        return event

    def to_host(self, tensor, buffer, computed):
        """Copies what was computed at the mark; returns when it is there, with the seconds that
        the copying took, without the wait for what computes it."""
        begun, copied = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(computed)
            begun.record(self._stream)
            buffer.view(tensor.shape).copy_(tensor, non_blocking=True)
            tensor.record_stream(self._stream)
            copied.record(self._stream)
        copied.synchronize()
        return begun.elapsed_time(copied) / 1000

    def to_device(self, buffer):
        """A copy on the GPU, which the computation that follows waits for. The buffer may be used
        by the next to_host()."""
        with torch.cuda.stream(self._stream):
            tensor = buffer.to(self._device, non_blocking=True)
        now = torch.cuda.current_stream(self._device)
        now.wait_stream(self._stream)
        tensor.record_stream(now)
        return tensor


class HostCopies:
    """The same for tensors of the CPU, for which it is no use but to be tested."""

    def mark(self):
        """Nothing."""
        return None

    def to_host(self, tensor, buffer, computed):
        """Copies."""
        del computed
        begun = time.monotonic()
        buffer.view(tensor.shape).copy_(tensor)
        return time.monotonic() - begun

    def to_device(self, buffer):
        """The buffer itself."""
        return buffer


class Staged:
    """The ticket of an exchange that begins when its tensor has been copied. Thread: any."""

    def __init__(self):
        self._begun = threading.Event()
        self._ticket = None
        self._error = None

    def begun(self, ticket=None, error=None):
        """Called once: with the exchange's own ticket, or with why there is none."""
        self._ticket, self._error = ticket, error
        self._begun.set()

    def wait(self):
        """Waits for the end. Raises what went wrong."""
        self._begun.wait()
        if self._error is not None:
            raise self._error
        self._ticket.wait()

    def done(self):
        """True once it has ended."""
        return self._begun.is_set() and (self._error is not None or self._ticket.done())


def _end(waiting, order, thread):
    """Ends it before the interpreter does: that would be in the midst of PyTorch's functions, which
    abort the process then."""
    waiting.put((float("inf"), next(order), None))
    if thread is not threading.current_thread():
        thread.join(PATIENCE)


class Staging:
    """The thread. `note` is told of each copy, as Session.note_span wants it. Thread: any."""

    def __init__(self, copies, note=lambda kind, begin, end: None):
        self._copies = copies
        self._note = note
        self._waiting = queue.PriorityQueue()
        self._order = itertools.count()
        self._thread = None
        self._end = None

    def send(self, tensor, buffer, priority, begin):
        """Copies `tensor` into `buffer` when no more urgent one waits, then calls begin(), which
        returns a ticket; returns a ticket for all that. Both must stay until it has ended."""
        staged = Staged()
        work = (tensor, buffer, self._copies.mark(), begin, staged)
        self._waiting.put((-priority, next(self._order), work))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stretto-stage", daemon=True)
            self._thread.start()
            self._end = weakref.finalize(self, _end, self._waiting, self._order, self._thread)
        return staged

    def bring(self, buffer):
        """What came into a buffer, where the gradients are."""
        return self._copies.to_device(buffer)

    def close(self):
        """Ends the thread, after all that was sent; at the latest this happens at exit."""
        if self._thread is not None:
            self._end()
            self._thread = None

    def _run(self):
        while (work := self._waiting.get()[2]) is not None:
            tensor, buffer, computed, begin, staged = work
            try:
                seconds = self._copies.to_host(tensor, buffer, computed)
                now = time.monotonic()
                self._note("stage", now - seconds, now)
                staged.begun(ticket=begin())
            except Exception as error:  # pylint: disable=broad-except
                staged.begun(error=error)  # Whoever waits for it gets it.
            del work, tensor, buffer, computed, begin, staged
