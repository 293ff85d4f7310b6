# SPDX-License-Identifier: Apache-2.0
"""Reader: an iterable over the samples of a data set. C++ does the work, except for batches,
decoding and the progress bar, which are here.
"""

import os
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from stretto import _core, errors, notices, session
from stretto.input.decoding import Decoder

_MOST_PROBLEMS = 100
_MOST_COMPARED = 100  # Readers of a program: each takes a name in the job.


class Reader:
    """The samples of some files, each exactly once an epoch over all workers.

    One loop over it is one epoch (or `epochs` of them, if given); the next loop is the next one,
    and the reader reads ahead into it. A loop after a break continues where it ended. Samples are
    memoryviews, for format "tar" dicts of them by extension with the name under "__key__", or the
    results of `decode`. A view stays valid as long as it is held.

    Arguments:
        paths: the files, str, bytes or PathLike, in an order that is the same at all workers, as
            sorted() makes it; or one of them.
        format: "tfrecord", "tar" (WebDataset's shards), "files" (each is a sample) or "records"
            (of `record_bytes`).
        shuffle, seed: in another order each epoch, the same for the same seed.
        rank, world: this worker's part of each epoch.
        even: all workers take the same number of samples; the remainder is skipped in that epoch.
        batch: yields lists of this number of samples; the last of an epoch may be shorter, and the
            last before an error.
        epochs: epochs of one loop; None: one, without a last epoch.
        decode: called with each sample; its results come in order. Its exceptions get a note, which
            tracebacks show from Python 3.11 on, with the file and the offset.
        decode_threads: number of threads that decode ahead of the loop; 0: the looping thread
            decodes. "auto": none at first, more while they make the program faster; see
            tuning_log(). For thread-safe functions that release the GIL.
        on_error: "fail" raises in the sample's place, and the next loop continues after it; "skip"
            omits the sample and adds it to problems().
        progress: a bar for each loop, by tqdm; without tqdm a warning.
        options: of the C++ reader: retries, check_crc, max_sample_bytes, shuffle_block_bytes,
            shuffle_blocks, tune, depth, read_bytes, memory_bytes, index_folder (which keeps the
            indexes of large files), method ("auto", "io_uring", "threads"), direct (True, False or
            None: past the page cache).

    Raises the exceptions of stretto.errors: InvalidArgument for a file that is missing or cannot be
    read, Malformed for one that is truncated or corrupt; each names file and offset. In a job of
    `world` workers a loop starts with Mismatch if the n-th such Reader of another worker has
    different files, order or seed.
    """

    _stretto_of_each = True  # The index within its own part of the samples.
    _is_compared = True

    def __init__(self, paths: Union[str, "os.PathLike[str]", Sequence[Any]],
                 format: str = "tfrecord",  # pylint: disable=redefined-builtin
                 record_bytes: int = 0, shuffle: bool = False, seed: int = 0, rank: int = 0,
                 world: int = 1, batch: Optional[int] = None, epochs: Optional[int] = None,
                 decode: Optional[Callable[[Any], Any]] = None, decode_threads: Union[int, str] = 0,
                 on_error: str = "fail", even: bool = False, progress: bool = False,
                 **options: Any) -> None:
        if batch is not None and batch < 1:
            raise errors.InvalidArgument(f"batch {batch}: wanted 1 at least, or None")
        if epochs is not None and epochs < 1:
            raise errors.InvalidArgument(f"epochs {epochs}: wanted 1 at least, or None")
        if decode is None and decode_threads != 0:
            raise errors.InvalidArgument(
                f"decode_threads {decode_threads!r} without decode: wanted both or neither")
        named = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else paths
        wanted = _core.ReaderOptions()
        wanted.paths = [os.fsencode(path) for path in named]
        wanted.set_format(format)
        wanted.set_on_error(on_error)
        wanted.record_bytes, wanted.shuffle, wanted.seed = record_bytes, shuffle, seed
        wanted.rank, wanted.world, wanted.even = rank, world, even
        wanted.epochs = 0
        _set(wanted, options)
        self._reader = _core.Reader(wanted)
        self._is_tar = format == "tar"
        self._batch = batch
        self._epochs = epochs
        self._decoder = None if decode is None else Decoder(decode, decode_threads, batch)
        self._progress = progress
        self._skips = on_error == "skip"
        self._undecoded: List[str] = []
        self._undecoded_count = 0
        self._told = self._reader.cursor()  # Position after the samples that the loop has yielded,
        self._behind: Optional[bytes] = None  # and after a sample that failed.
        self._left = 0  # Remaining epochs of a loop interrupted by an error or a break.
        self._loops = 0
        self._world = world
        blocks = (wanted.shuffle_block_bytes, wanted.shuffle_blocks)
        how = f", shuffled by seed {seed} in blocks {blocks}" if shuffle else ""
        self._order = f"data {self._reader.fingerprint:x}{how}{', even' if even else ''}"
        self._is_new = world > 1 and self._is_compared

    def __iter__(self) -> Iterator[Any]:
        if self._told != self._reader.cursor():
            self._reader.seek(self._told)  # Discards samples read ahead for an abandoned loop.
        if not self._left:
            self._left = self._epochs or 1
        self._loops += 1
        if self._is_new:
            _compare(self._world, self._order)
            self._is_new = False
        with _Bar(self._progress, self) as bar:
            while self._left:
                yield from self._epoch(bar, self._loops)
                self._left -= 1

    def next_epoch(self) -> None:
        """Skips the rest of this epoch, unread: the next loop starts the next epoch. Does nothing
        between two epochs."""
        if not self._left:
            return
        if self._told != self._reader.cursor():
            self._reader.seek(self._told)  # Threads may have read past the epoch's end.
        self._told = self._reader.cursor_of(self._reader.epoch + 1)
        self._reader.seek(self._told)
        self._left -= 1

    def __len__(self) -> int:
        """The number of samples, or batches, that one epoch yields here."""
        samples = self._reader.epoch_samples
        return samples if self._batch is None else -(-samples // self._batch)

    def _epoch(self, bar: "_Bar", loop: int) -> Iterator[Any]:
        decoded = self._decoded(self._samples())
        failure: Optional[Exception] = None
        self._behind = None
        over = False
        while not over:
            chunk: List[Any] = []
            try:
                while len(chunk) < (self._batch or 1):
                    cursor, sample = next(decoded)
                    chunk.append(sample)
            except StopIteration:
                over = True
            except Exception as error:  # pylint: disable=broad-except
                over, failure = True, error  # It follows the samples read before it.
            if chunk:
                self._told = cursor
                bar.count(len(chunk))
                yield chunk[0] if self._batch is None else chunk
                if loop != self._loops:
                    raise errors.InvalidArgument(
                        "this loop over the Reader was left, and another one has begun since: a "
                        "Reader is in one place, so give each loop a Reader of its own")
        if failure is None:
            self._told = self._reader.cursor()
            return
        if self._behind is not None:
            self._told = self._behind
        try:
            raise failure
        finally:
            del failure, chunk  # The traceback holds this frame.

    def _samples(self) -> Iterator[Any]:
        """(cursor after it, sample from C++) until the end of the epoch."""
        while True:
            try:
                sample = self._reader.next()
            except Exception:  # pylint: disable=broad-except
                self._behind = self._reader.cursor()
                raise
            if sample is None:
                return
            yield self._reader.cursor(), sample

    def _view(self, sample: _core.Sample) -> Any:
        if not self._is_tar:
            return sample.bytes
        return {"__key__": sample.key, **sample.members}

    def _decoded(self, samples: Iterator[Any]) -> Iterator[Any]:
        if self._decoder is None:
            for cursor, sample in samples:
                yield cursor, self._view(sample)
            return
        placed = (((cursor, _place_of(sample)), self._view(sample)) for cursor, sample in samples)
        for (cursor, place), result in self._decoder(placed):
            try:
                decoded = result()
            except Exception as error:  # pylint: disable=broad-except
                del result  # It holds the error, whose traceback holds this frame.
                if not self._skips:
                    self._behind = cursor
                    _note(error, f"{_told(*place)}: decoding it failed")
                    raise
                self._leave_out(f"{_told(*place)}: decoding it failed: "
                                f"{type(error).__name__}: {error}")
            else:
                yield cursor, decoded

    def _leave_out(self, why: str) -> None:
        self._undecoded_count += 1
        if len(self._undecoded) < _MOST_PROBLEMS:
            self._undecoded.append(why)

    def as_dataset(self) -> Any:
        """The reader as a torch.utils.data.IterableDataset, for a DataLoader with num_workers=0
        (the reader has its own threads); with batch_size=None it passes each item through."""
        from stretto.input.dataset import Dataset  # pylint: disable=import-outside-toplevel
        return Dataset(self)

    def state_dict(self) -> Dict[str, Any]:
        """The loop's position, for a checkpoint: after the samples it has yielded."""
        return {"cursor": self._told, "epochs_left": self._left}

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        """The next loop continues there. Mismatch if the state is of a different data set or
        order."""
        self._reader.seek(state["cursor"])
        self._told = state["cursor"]
        self._left = state["epochs_left"]

    @property
    def epoch(self) -> int:
        """The epoch of the next sample to be read, from 0. Threads that decode read ahead."""
        return self._reader.epoch

    @property
    def samples(self) -> int:
        """The number of samples in the data set."""
        return self._reader.samples

    @property
    def fingerprint(self) -> int:
        """Equal at workers that see the same data set."""
        return self._reader.fingerprint

    @property
    def method(self) -> str:
        """The I/O method: "io_uring" or "threads"."""
        return self._reader.method

    @property
    def problem_count(self) -> int:
        """The number of skipped samples and files."""
        return self._reader.problem_count + self._undecoded_count

    def problems(self) -> List[str]:
        """Reasons of the first 100 skips."""
        return (self._reader.problems() + self._undecoded)[:_MOST_PROBLEMS]

    def set_knobs(self, depth: int, read_bytes: int) -> None:
        """Sets the number and the maximum size of reads in flight. The tuner leaves them alone
        afterwards."""
        self._reader.set_knobs(depth, read_bytes)

    def knobs(self) -> Any:
        """The current (depth, read_bytes)."""
        return self._reader.knobs()

    def tuning_log(self) -> str:
        """The trials, measurements and choices of the tuners of reading and decoding, a line
        each."""
        return self._reader.tuning_log() + (self._decoder.log() if self._decoder else "")

    def take_window(self) -> Dict[str, float]:
        """Statistics since the last call: bytes, latencies, the consumer's stall."""
        return self._reader.take_window()


def _compare(world: int, order: str) -> None:
    # In a job whose workers share the samples: a name is declared alike everywhere. Not in an
    # elastic job, where joining workers have created fewer Readers.
    now = session.current() if session.is_initialized() else None
    if now is None or now.alone or now.elastic or now.size != world:
        return
    number = now.new_scope("reader").number
    if number > _MOST_COMPARED:
        return
    try:
        now.declare(f"Reader {number}", "u8", 0, shape=order)
    except errors.Mismatch as error:
        raise errors.Mismatch(
            f"another worker's Reader {number} has other files, another order of files, or other "
            "options, so that some samples would come twice and others never; give all workers "
            f"the same list of paths, such as sorted(paths): {error.cause}",
            operation="Reader") from error


def _place_of(sample: _core.Sample) -> Tuple[str, int, str]:
    # Without the sample, whose memory may be freed after decoding.
    return sample.path, sample.offset, sample.key


def _told(path: str, offset: int, key: str) -> str:
    return f"'{path}' at offset {offset}" + (f", sample '{key}'" if key else "")


def _note(error: BaseException, text: str) -> None:
    # A traceback shows it, and the error keeps the type that the program expects.
    error.__notes__ = [*getattr(error, "__notes__", []), text]  # type: ignore[attr-defined]


def _set(wanted: _core.ReaderOptions, options: Dict[str, Any]) -> None:
    known = ("retries", "check_crc", "max_sample_bytes", "shuffle_block_bytes", "shuffle_blocks",
             "tune", "depth", "read_bytes", "memory_bytes")
    for name, value in options.items():
        if name == "index_folder":
            wanted.index_folder = os.fsencode(value)
        elif name == "method":
            wanted.set_method(value)
        elif name == "direct":
            wanted.set_direct(value)
        elif name in known:
            setattr(wanted, name, value)
        else:
            raise TypeError(f"Reader has no option '{name}'; it has "
                            f"{', '.join(known)}, index_folder, method, direct")


class _Bar:
    """A progress bar of tqdm, or none."""

    def __init__(self, wanted: bool, reader: Reader) -> None:
        self._bar: Any = None
        if wanted:
            try:
                import tqdm  # pylint: disable=import-outside-toplevel
            except ImportError:
                notices.warn("progress=True shows a bar of tqdm, which this Python does not have: "
                             "no bar is shown; install it (pip install tqdm)")
                return
            core = reader._reader  # pylint: disable=protected-access
            self._bar = tqdm.tqdm(total=core.epoch_samples, initial=core.passed, unit="samples",
                                  desc=f"epoch {core.epoch}")

    def __enter__(self) -> "_Bar":
        return self

    def __exit__(self, *_: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def count(self, samples: int) -> None:
        """Counts further samples that were yielded."""
        if self._bar is not None:
            self._bar.update(samples)
