# SPDX-License-Identifier: Apache-2.0
"""ElasticReader: the counterpart of ElasticSampler for the record files of stretto.input, which are
read in sequence. An epoch is cut into sections, as in stretto.input.Reader by rank and world; a
part is a list of pieces of sections, which are ranges of numbers and can be cut further."""

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from stretto import input as records
from stretto import errors, session
from stretto.torch.elastic import sampler


class Piece(NamedTuple):
    """Some samples of the section of one rank."""

    rank: int
    world: int
    which: range


Part = List[Piece]


def behind(part: Part, count: int) -> Part:
    """The part after its first `count` samples."""
    rest = []
    for piece in part:
        taken = min(count, len(piece.which))
        count -= taken
        if taken < len(piece.which):
            rest.append(piece._replace(which=piece.which[taken:]))
    return rest


def divided(parts: Sequence[Part], among: int) -> List[Part]:
    """All samples of some parts, divided into `among` new parts."""
    found: List[Part] = [[] for _ in range(among)]
    pieces = [piece for part in parts for piece in part]
    for number, piece in enumerate(pieces):
        for place in range(among):
            which = piece.which[(place + number) % among::among]
            if which:
                found[place].append(piece._replace(which=which))
    return found


def size_of(part: Part) -> int:
    """The number of its samples."""
    return sum(len(piece.which) for piece in part)


class _SectionReader(records.Reader):
    """Reads a section of an epoch, on some workers only."""

    _is_compared = False


class ElasticReader:
    """Batches of this worker's part of an epoch; the others read the rest of a lost worker's part.
    Use it as a value of a TorchState, like an ElasticSampler; each sample is processed at least
    once. All workers yield the same number of batches of an epoch: a worker with fewer samples
    repeats one. Workers must have the same paths in the same order: load_state_dict(), and so the
    state's sync(), raises Mismatch otherwise.

    paths, options   as in stretto.input.Reader, except rank, world, even, batch and epochs
    batch            samples that a loop over it yields at a time, as a list
    """

    def __init__(self, paths: Any, batch: int, **options: Any) -> None:
        if options.get("on_error", "fail") != "fail":
            raise ValueError("an ElasticReader counts samples, of which none may be left out: "
                             "on_error is 'fail'")
        self.epoch = 0
        self.batch = batch
        self._make = lambda rank, world: _SectionReader(paths, rank=rank, world=world, **options)
        shuffle = bool(options.get("shuffle"))
        shuffled_by = ("seed", "shuffle_block_bytes", "shuffle_blocks") if shuffle else ()
        self._order = [shuffle, *(int(options.get(name, 0)) for name in shuffled_by)]
        self._settings = len(self._order)
        self._sections: Dict[Tuple[int, int], "_Section"] = {}
        self._parts: Dict[int, Part] = {}
        self._processed: Dict[int, int] = {}
        self._recorded = 0
        now = session.current()
        self._begin_epoch(now.seats_in or tuple(range(now.size)))
        sampler.note_divider(self)

    def set_epoch(self, epoch: int) -> None:
        """Starts another epoch. Call it after the last commit() of the previous epoch."""
        self.epoch = epoch
        now = session.current()
        self._begin_epoch(now.seats_in or tuple(range(now.size)))

    def record_batch(self, batch_idx: int, batch_size: Optional[int] = None) -> None:
        """The batch of that number since the last division, and all before it, were processed."""
        self._recorded = max(self._recorded, (batch_idx + 1) * (batch_size or self.batch))

    def __len__(self) -> int:
        """Batches of this epoch, since the last division."""
        return -(-max(map(size_of, self._parts.values())) // self.batch)

    def __iter__(self) -> Iterator[List[Any]]:
        longest = max(map(size_of, self._parts.values()))
        chunk: List[Any] = []
        for sample in self._samples(longest):
            chunk.append(sample)
            if len(chunk) == self.batch:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def _samples(self, count):
        part = self._parts[self._mine()]
        last = None
        for piece in part:
            for last in self._section(piece).samples(self.epoch, piece.which):
                yield last
        missing = count - size_of(part)
        if missing and not part:
            other = next(each for each in self._parts.values() if each)[0]
            last = next(iter(self._section(other).samples(self.epoch, other.which[:1])))
        for _ in range(missing):
            yield last

    def state_dict(self) -> Dict[str, Any]:
        """The state for load_state_dict(): all samples not known to be processed."""
        self._processed[self._mine()] = self.processed_here
        return {"epoch": self.epoch, "order": self._order, "parts": [
            [[piece.rank, piece.world, piece.which.start, piece.which.stop, piece.which.step]
             for piece in behind(part, self._processed.get(seat, 0))]
            for seat, part in self._parts.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues there, with the same or another number of workers. Mismatch if the state is of
        other files, another order of files, or another seed."""
        if state.get("order", self._order) != self._order:
            raise errors.Mismatch(
                "the state's ElasticReader has other files, another order of files, or other "
                "options than this worker's, so that some samples would come twice and others "
                "never; give all workers the same list of paths, such as sorted(paths)",
                operation="ElasticReader")
        now = session.current()
        seats = now.seats_in or tuple(range(now.size))
        parts = [[Piece(rank, world, range(*which)) for rank, world, *which in part]
                 for part in state["parts"]]
        if len(parts) != len(seats):
            parts = divided(parts, len(seats))
        self.epoch = state["epoch"]
        self._begin(dict(zip(seats, parts)))

    # ---- for the state, as ElasticSampler has it

    @property
    def processed_here(self) -> int:
        """Samples of this worker's part that were recorded."""
        return min(self._recorded, size_of(self._parts[self._mine()]))

    def note(self, processed: Mapping[int, int]) -> None:
        """Stores the progress of the workers, by seat."""
        self._processed.update((seat, count) for seat, count in processed.items()
                               if seat in self._parts)

    def divide(self, seats: Sequence[int]) -> None:
        """Workers keep the rest of their parts, plus some of the others', unless a worker joins."""
        left = {seat: behind(part, self._processed.get(seat, 0))
                for seat, part in self._parts.items()}
        if set(seats) <= set(left):
            more = divided([part for seat, part in left.items() if seat not in seats], len(seats))
            self._begin({seat: left[seat] + part for seat, part in zip(seats, more)})
        else:
            self._begin(dict(zip(seats, divided(list(left.values()), len(seats)))))

    def snapshot(self) -> Tuple[Any, ...]:
        """The complete state, for back_to()."""
        return self.epoch, dict(self._parts), dict(self._processed), self._recorded

    def back_to(self, snapshot: Tuple[Any, ...]) -> None:
        """Restores the snapshot."""
        self.epoch, parts, processed, self._recorded = snapshot
        self._parts, self._processed = dict(parts), dict(processed)

    # ---- inside

    def _begin_epoch(self, seats):
        world, seat = len(seats), session.current().seat
        mine = seats.index(seat) if seat in seats else 0
        section = self._section(Piece(mine, world, range(0)))
        total = section.all_samples
        self._order[self._settings:] = [section.fingerprint]
        self._begin({seat: [Piece(place, world, range((total + world - 1 - place) // world))]
                     for place, seat in enumerate(seats)})

    def _begin(self, parts):
        self._parts = {seat: [piece for piece in part if piece.which]
                       for seat, part in parts.items()}
        self._processed, self._recorded = {}, 0
        used = {(piece.rank, piece.world) for piece in self._parts[self._mine()]}
        self._sections = {key: section for key, section in self._sections.items() if key in used}

    def _mine(self):
        seat = session.current().seat
        return seat if seat in self._parts else next(iter(self._parts))

    def _section(self, piece):
        key = (piece.rank, piece.world)
        if key not in self._sections:
            self._sections[key] = _Section(self._make(*key))
        return self._sections[key]


class _Section:
    """The sequential reading of one rank: it continues in place if that is before the wanted
    samples."""

    def __init__(self, reader):
        self._reader = reader
        self._epoch = -1
        self._next = 0
        self._loop = iter(())
        self.all_samples = reader.samples
        self.fingerprint = reader.fingerprint

    def samples(self, epoch, which):
        """The samples with these numbers of an epoch."""
        if epoch != self._epoch or which.start < self._next:
            core = self._reader._reader
            self._reader.load_state_dict({"cursor": core.cursor_of(epoch), "epochs_left": 0})
            self._epoch, self._next, self._loop = epoch, 0, iter(self._reader)
        for number in which:
            while self._next < number:
                next(self._loop)
                self._next += 1
            self._next += 1
            yield next(self._loop)
