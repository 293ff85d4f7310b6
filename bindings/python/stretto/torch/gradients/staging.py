# SPDX-License-Identifier: Apache-2.0
"""Gradients on a GPU, on their way to the network: a thread copies them into pinned memory, on a
separate stream, in order of priority, and starts each exchange when its copy is complete. Only the
exchanges wait for the copies.
"""

import itertools
import queue
import threading
import time
import weakref

import torch

PATIENCE = 5.0  # Seconds for the current copy, at the end.


class CudaCopies:
    """Copies between one GPU and pinned memory, on a separate stream."""

    def __init__(self, device):
        self._device = device
        self._stream = torch.cuda.Stream(device)

    def mark(self):
        """Marks the computation so far, for to_host()."""
        event = torch.cuda.Event()
        event.record(torch.cuda.current_stream(self._device))
        return event

    def to_host(self, tensor, buffer, computed):
        """Copies the value computed at the mark; returns after the copy, with the seconds that it
        took, without the wait for the computation."""
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
        """A copy on the GPU, for which later computation waits. The next to_host() may use the
        buffer."""
        with torch.cuda.stream(self._stream):
            tensor = buffer.to(self._device, non_blocking=True)
        now = torch.cuda.current_stream(self._device)
        now.wait_stream(self._stream)
        tensor.record_stream(now)
        return tensor


class HostCopies:
    """The counterpart for CPU tensors, only for tests."""

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
        """Called once: with the exchange's own ticket, or with the error that prevented it."""
        self._ticket, self._error = ticket, error
        self._begun.set()

    def wait(self):
        """Waits for the end. Raises its error."""
        self._begun.wait()
        if self._error is not None:
            raise self._error
        self._ticket.wait()

    def done(self):
        """True once it has ended."""
        return self._begun.is_set() and (self._error is not None or self._ticket.done())


def _end(waiting, order, thread):
    """Ends it before the interpreter exits: during the exit PyTorch's functions abort the
    process."""
    waiting.put((float("inf"), next(order), None))
    if thread is not threading.current_thread():
        thread.join(PATIENCE)


class Staging:
    """The thread. It calls `note` for each copy, as Session.note_span. Thread: any."""

    def __init__(self, copies, note=lambda kind, begin, end: None):
        self._copies = copies
        self._note = note
        self._waiting = queue.PriorityQueue()
        self._order = itertools.count()
        self._thread = None
        self._end = None

    def send(self, tensor, buffer, priority, begin):
        """Copies `tensor` into `buffer` after all copies of higher priority, then calls begin(),
        which returns a ticket; returns a ticket for both. The tensors must live until it has
        ended."""
        staged = Staged()
        work = (tensor, buffer, self._copies.mark(), begin, staged)
        self._waiting.put((-priority, next(self._order), work))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stretto-stage", daemon=True)
            self._thread.start()
            self._end = weakref.finalize(self, _end, self._waiting, self._order, self._thread)
        return staged

    def bring(self, buffer):
        """A received buffer, on the device of the gradients."""
        return self._copies.to_device(buffer)

    def close(self):
        """Ends the thread, after all queued work; at the latest this happens at exit."""
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
                staged.begun(error=error)  # wait() raises it.
            del work, tensor, buffer, computed, begin, staged
