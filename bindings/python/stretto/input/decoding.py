# SPDX-License-Identifier: Apache-2.0
"""Decoder: calls a program's function on samples, in order, by the thread that loops or by others.
Of threads as many as pay (input/tuning/caller_pool_tuner.h), or as the program says.
"""

import collections
import concurrent.futures
import functools
import operator
import os
import time
from typing import Any, Callable, Deque, Iterator, List, Optional, Tuple, Union

from stretto import _core, errors

_AHEAD_OF_THREAD = 4  # Samples that are decoded, or wait for it, before they are taken: so many
_LEAST_TUNED_AHEAD = 32  # for each thread, or a batch, or, with "auto", so many, if that is more.
_LEAST_CYCLES = 4  # Batches in a window, for a program pauses between them.
_FOR_EACH_PROCESSOR = 2  # What decodes may wait for something, too.
_MOST_THREADS = 64

Result = Callable[[], Any]  # Gives the decoded sample, or raises.


class _Threads:
    """Those of one loop; they are others when their number changes."""

    def __init__(self) -> None:
        self._count = 0
        self._executors: List[concurrent.futures.ThreadPoolExecutor] = []

    def start(self, count: int, function: Callable[[Any], Any], sample: Any) -> Result:
        """Has the function called, by one of so many threads."""
        if count != self._count:
            if self._executors:
                self._executors[-1].shutdown(wait=False)  # What it was given it still does.
            self._count = count
            self._executors.append(concurrent.futures.ThreadPoolExecutor(count))
        return self._executors[-1].submit(function, sample).result

    def close(self) -> None:
        """What has not begun is dropped; returns when nothing is decoded any more."""
        for executor in self._executors:
            executor.shutdown(wait=True, cancel_futures=True)


class Gauge:
    """Measures how a program takes samples, and asks the tuner for the number of threads. Time is
    what `clock` tells."""

    def __init__(self, batch: int, clock: Callable[[], float]) -> None:
        self._clock = clock
        processors = len(os.sched_getaffinity(0))
        self._tuner = _core.DecodeTuner(min(_FOR_EACH_PROCESSOR * processors, _MOST_THREADS))
        self._batch = batch
        self._took: List[float] = []  # Seconds of each sample; appended to by any thread.
        self.begin()

    def begin(self) -> None:
        """A window."""
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
        """What the program takes."""
        begun = self._clock()
        try:
            return result()
        finally:
            self._stall += self._clock() - begun
            self._taken += 1

    # Windows end where a batch begins, so that they hold what the program does between batches; but
    # the last batch of an epoch may be shorter, and until the next window they end within one.
    def threads(self) -> int:
        """How many there are to be from now on."""
        cycles, inside = divmod(self._taken, self._batch)
        length = self._clock() - self._begun
        if not inside and cycles >= _LEAST_CYCLES and length >= self._tuner.window:
            took = list(self._took)
            self._tuner.measured(self._clock(), length, self._taken,
                                 sum(took) / max(len(took), 1), self._stall)
            self.begin()
        return self._tuner.threads

    def pause(self, seconds: float) -> None:
        """So long nothing was taken for other reasons."""
        self._begun += seconds

    def log(self) -> str:
        """What was tried, seen and chosen."""
        return self._tuner.log()


class Decoder:
    """One thread loops over it at a time.

    Arguments:
        function: called with each sample. By several threads at once, unless `threads` is 0.
        threads: how many; 0: the one that loops; "auto": none at first, and as many as make the
            program faster.
        batch: samples that the program takes in a row.
        clock: tells seconds; any thread may ask it.
    """

    def __init__(self, function: Callable[[Any], Any], threads: Union[int, str],
                 batch: Optional[int], clock: Callable[[], float] = time.perf_counter) -> None:
        self._function = function
        self._clock = clock
        self._gauge = Gauge(batch or 1, clock) if threads == "auto" else None
        self._least_ahead = max(_LEAST_TUNED_AHEAD if self._gauge is not None else 1, batch or 1)
        self._threads = 0 if self._gauge is not None else _number(threads)
        self._loops = 0  # That have begun and not ended.
        self._left = self._clock()

    def __call__(self, samples: Iterator[Tuple[Any, Any]]) -> Iterator[Tuple[Any, Result]]:
        """(cursor, what gives the decoded sample or raises) of (cursor, sample), in order. If the
        next sample cannot be had, that is raised behind those that were had before.
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
            failure = None  # Whose traceback holds this frame.
            threads.close()
            self._loops -= 1
            self._left = self._clock()

    def log(self) -> str:
        """What was tried, seen and chosen, a line for each; empty without tuning."""
        return self._gauge.log() if self._gauge is not None else ""

    # What lies between two epochs counts nowhere.
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
