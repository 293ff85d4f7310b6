# SPDX-License-Identifier: Apache-2.0
"""Decoder: calls a program's function on samples, in order, on the looping thread or on others. The
number of threads is tuned (input/tuning/caller_pool_tuner.h) or set by the program.
"""

import collections
import concurrent.futures
import functools
import operator
import os
import time
from typing import Any, Callable, Deque, Iterator, List, Optional, Tuple, Union

from stretto import _core, errors

_AHEAD_OF_THREAD = 4  # Samples in decoding, or queued for it, per thread;
_LEAST_TUNED_AHEAD = 32  # at least a batch, and with "auto" at least this number.
_LEAST_CYCLES = 4  # Batches in a window: a program pauses between batches.
_FOR_EACH_PROCESSOR = 2  # Decoding may also wait, e.g. for I/O.
_MOST_THREADS = 64

Result = Callable[[], Any]  # Returns the decoded sample, or raises.


class _Threads:
    """The threads of one loop; replaced when their number changes."""

    def __init__(self) -> None:
        self._count = 0
        self._executors: List[concurrent.futures.ThreadPoolExecutor] = []

    def start(self, count: int, function: Callable[[Any], Any], sample: Any) -> Result:
        """Calls the function on one of `count` threads."""
        if count != self._count:
            if self._executors:
                self._executors[-1].shutdown(wait=False)  # It still completes its queued samples.
            self._count = count
            self._executors.append(concurrent.futures.ThreadPoolExecutor(count))
        return self._executors[-1].submit(function, sample).result

    def close(self) -> None:
        """Drops the queued samples; returns when no thread decodes any more."""
        for executor in self._executors:
            executor.shutdown(wait=True, cancel_futures=True)


class Gauge:
    """Measures how a program takes samples, and asks the tuner for the number of threads. Time is
    that of `clock`."""

    def __init__(self, batch: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        processors = len(os.sched_getaffinity(0))
        self._tuner = _core.DecodeTuner(min(_FOR_EACH_PROCESSOR * processors, _MOST_THREADS))
        self._batch = batch
        self._took: List[float] = []  # Seconds of each sample; appended to by any thread.
        self.begin()

    def begin(self) -> None:
        """Starts a window."""
        self._begun = self._clock()
        self._stall = 0.0  # Seconds in which the program waited for decoding.
        self._taken = 0
        self._took.clear()

    def timed(self, function: Callable[[Any], Any], sample: Any) -> Any:
        """Calls it. Thread: any."""
        begun = self._clock()
        try:
            return function(sample)
        finally:
            self._took.append(self._clock() - begun)

    def awaited(self, result: Result) -> Any:
        """Waits for a sample on behalf of the program."""
        begun = self._clock()
        try:
            return result()
        finally:
            self._stall += self._clock() - begun
            self._taken += 1

    # Windows end where a batch starts, so that they include the program's work between batches. The
    # last batch of an epoch may be shorter, and until the next window they end within a batch.
    def threads(self) -> int:
        """The number of threads from now on."""
        cycles, inside = divmod(self._taken, self._batch)
        length = self._clock() - self._begun
        if not inside and cycles >= _LEAST_CYCLES and length >= self._tuner.window:
            took = list(self._took)
            self._tuner.measured(self._clock(), length, self._taken,
                                 sum(took) / max(len(took), 1), self._stall)
            self.begin()
        return self._tuner.threads

    def pause(self, seconds: float) -> None:
        """Excludes `seconds`, during which the program took no samples for another reason."""
        self._begun += seconds

    def log(self) -> str:
        """The tuner's trials, measurements and choice."""
        return self._tuner.log()


class Decoder:
    """One thread loops over it at a time.

    Arguments:
        function: called with each sample. By several threads at once, unless `threads` is 0.
        threads: their number; 0: the looping thread decodes; "auto": none at first, and more while
            they make the program faster.
        batch: samples that the program takes in a row.
        clock: returns seconds; any thread may call it.
    """

    def __init__(self, function: Callable[[Any], Any], threads: Union[int, str],
                 batch: Optional[int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._function = function
        self._clock = clock
        self._gauge = Gauge(batch or 1, clock) if threads == "auto" else None
        self._least_ahead = max(_LEAST_TUNED_AHEAD if self._gauge is not None else 1, batch or 1)
        self._threads = 0 if self._gauge is not None else _number(threads)
        self._loops = 0  # Loops that have started and not ended.
        self._left = self._clock()

    def __call__(self, samples: Iterator[Tuple[Any, Any]]) -> Iterator[Tuple[Any, Result]]:
        """(cursor, function that returns the decoded sample or raises) of (cursor, sample), in
        order. If reading the next sample fails, the error is raised after the samples before it.
        """
        waiting: Deque[Tuple[Any, Result]] = collections.deque()
        threads = _Threads()
        failure: Optional[errors.Error] = None
        self._enter()
        try:
            while failure is None:
                try:
                    cursor, sample = next(samples)
                except StopIteration:
                    break
                except errors.Error as error:
                    failure = error
                    break
                waiting.append((cursor, self._start(threads, sample)))
                while len(waiting) > self._ahead():
                    yield self._next_of(waiting)
            while waiting:
                yield self._next_of(waiting)
            if failure is not None:
                raise failure
        finally:
            failure = None  # Its traceback holds this frame.
            threads.close()
            self._loops -= 1
            self._left = self._clock()

    def log(self) -> str:
        """The tuner's trials, measurements and choice, a line each; empty without tuning."""
        return self._gauge.log() if self._gauge is not None else ""

    # The time between two epochs does not count.
    def _enter(self) -> None:
        self._loops += 1
        if self._gauge is not None and self._loops == 1:
            self._gauge.pause(self._clock() - self._left)
        elif self._gauge is not None:
            self._gauge.begin()

    def _ahead(self) -> int:
        if self._threads == 0:
            return 0
        return max(_AHEAD_OF_THREAD * self._threads, self._least_ahead)

    def _start(self, threads: _Threads, sample: Any) -> Result:
        function = self._function
        if self._gauge is not None:
            function = functools.partial(self._gauge.timed, function)
        if self._threads == 0:
            return functools.partial(function, sample)
        return threads.start(self._threads, function, sample)

    def _next_of(self, waiting: Deque[Tuple[Any, Result]]) -> Tuple[Any, Result]:
        if self._gauge is None:
            return waiting.popleft()
        self._threads = self._gauge.threads()
        cursor, result = waiting.popleft()
        return cursor, functools.partial(self._gauge.awaited, result)


def _number(threads: Union[int, str]) -> int:
    try:
        number = operator.index(threads)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number <= _MOST_THREADS:
        raise errors.InvalidArgument(
            f"decode_threads {threads!r}: wanted a whole number from 0 to {_MOST_THREADS}, or "
            "'auto'")
    return number
