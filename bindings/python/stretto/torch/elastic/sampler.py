# SPDX-License-Identifier: Apache-2.0
"""ElasticSampler: divides what is left of an epoch among the workers that are in."""

import weakref
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Sized, Tuple

import numpy
import torch

from stretto import session

_SEEDS = 1 << 32
_dividers: "weakref.WeakSet[Any]" = weakref.WeakSet()


def note_divider(one: Any) -> None:
    """The program has something that divides samples anew, for as long as this lives."""
    _dividers.add(one)


def divides_anew() -> bool:
    """True if this program has an ElasticSampler or the like."""
    return len(_dividers) > 0


class ElasticSampler(torch.utils.data.Sampler):
    """The part of a dataset that this worker is to process, as a DistributedSampler's; and it
    remembers what was processed, so that the rest can be divided anew. For that it is to be a value
    of a TorchState, whose workers tell one another how far they are.

    Each sample of an epoch is processed at least once. Those come twice that pad the end of an
    epoch, so that all workers make the same number of steps, and those that a lost worker had
    processed after the last commit() or check_host_updates() in which it took part.

    dataset   of the same length at all workers
    shuffle   in another order each epoch, the same at all workers, by
    seed      and the number of the epoch
    """

    def __init__(self, dataset: Sized, shuffle: bool = True, seed: int = 0) -> None:
        super().__init__(dataset)
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.epoch = 0
        self.rank, self.num_replicas = 0, 1
        self._done: Any = numpy.zeros(len(dataset), dtype=bool)  # By place in the epoch's order.
        self._seats: Optional[Tuple[int, ...]] = None  # Whose division it is; None: of ranks.
        self._processed: Dict[int, int] = {}  # Of their parts, as was last agreed, by seat.
        self._per_step: Optional[int] = None  # Samples of all workers together.
        self._by_index: Optional[Tuple[Any, Any]] = None  # Indices in order, and their places.
        self._divide()
        note_divider(self)

    # ---- as Horovod's

    def set_epoch(self, epoch: int) -> None:
        """Another epoch begins, of which nothing has been processed. Call it at the end of the one
        before, after the last commit()."""
        self.epoch = epoch
        self._done[:] = False
        self._divide()

    def record_batch(self, batch_idx: int, batch_size: int) -> None:
        """The batch of that number, of those that came since the last division, was processed. All
        but the last have so many samples."""
        first, last = batch_idx * batch_size, (batch_idx + 1) * batch_size
        if self._per_step is not None:
            ends = self.ends
            first, last = ends[min(batch_idx, len(ends) - 1)], ends[min(batch_idx + 1,
                                                                        len(ends) - 1)]
        self._recorded[first:last] = True

    def record_indices(self, indices: Iterable[int]) -> None:
        """Samples with these indices were processed, of this worker's part. ValueError for what is
        no whole number."""
        if self._by_index is None:
            mine = numpy.array(self.indices, dtype=int)
            order = numpy.argsort(mine, kind="stable")
            self._by_index = mine[order], order
        values, places = self._by_index
        chosen: Any = numpy.array(list(indices))
        if len(chosen) and chosen.dtype.kind not in "iu":
            raise ValueError(f"indices are whole numbers, and not of the type {chosen.dtype}")
        firsts: Any = numpy.searchsorted(values, chosen, side="left")
        lasts: Any = numpy.searchsorted(values, chosen, side="right")
        for first, last in zip(firsts, lasts):
            self._recorded[places[first:last]] = True  # More than one where the part was padded.

    def reset(self) -> None:
        """Divides what has not been processed among those who are in now. A TorchState does so by
        itself; without one, others are taken to be as far as this worker."""
        self._settle()
        self._divide()

    def state_dict(self) -> Dict[str, Any]:
        """What load_state_dict() needs to go on with this epoch: what is known to be processed."""
        known = self._known_done()
        return {"epoch": self.epoch, "processed_num": int(known.sum()),
                "processed": numpy.packbits(known).tobytes()}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on there. ValueError if it is of a dataset of another length. Also takes Horovod's,
        which has the number of samples processed only."""
        done: Any = numpy.zeros(len(self.dataset), dtype=bool)
        if "processed" in state_dict:
            bits = numpy.frombuffer(state_dict["processed"], dtype=numpy.uint8)
            if len(bits) != (len(done) + 7) // 8:
                raise ValueError(f"this is the state of a sampler of {8 * len(bits)} samples, and "
                                 f"there are {len(done)}")
            done = numpy.unpackbits(bits, count=len(done)).astype(bool)
        else:
            done[:state_dict["processed_num"]] = True
        self.epoch, self._done = state_dict["epoch"], done
        self._divide()

    @property
    def processed_num(self) -> int:
        """Samples of this epoch that are known to be processed."""
        return int(self._known_done().sum())

    @property
    def remaining_indices(self) -> List[int]:
        """Those that were divided among the workers."""
        return self._order[self._places].tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.indices)

    def __len__(self) -> int:
        return self.num_samples

    # ---- batches of constant size

    def batches(self, batch_size: int) -> "Batches":
        """For DataLoader(dataset, batch_sampler=sampler.batches(32)): steps of as many samples as
        all workers that the job began with have in batches of that size, divided among those who
        are in. Give the sampler to DistributedOptimizer(sampler=), which weights their means."""
        self._per_step = batch_size * session.current().seats
        self._divide()
        return Batches(self)

    @property
    def ends(self) -> List[int]:
        """Where this worker's batches begin and end in its part."""
        return self._ends

    def weight(self) -> float:
        """Of this worker's gradient of the batch that comes after those that were recorded, in a
        mean over the workers: its samples by the mean number of samples."""
        if self._per_step is None or not self.num_samples:
            return 1.0
        step = int(numpy.searchsorted(self._ends, self.processed_here, side="right")) - 1
        step = min(step, len(self._ends) - 2)
        sizes = [len(part) for part in (self._step_of(place, step)
                                        for place in range(self.num_replicas))]
        return sizes[self.rank] * self.num_replicas / sum(sizes)

    # ---- for the state

    @property
    def processed_here(self) -> int:
        """Samples of this worker's part that were recorded, up to the first that was not."""
        return self.num_samples if self._recorded.all() else int(self._recorded.argmin())

    def note(self, processed: Mapping[int, int]) -> None:
        """How far the workers are, by seat. Of who is not there, what was noted before holds."""
        self._processed.update((seat, count) for seat, count in processed.items()
                               if seat in (self._seats or ()))

    def divide(self, seats: Sequence[int]) -> None:
        """Divides what was not processed, as was noted, among the workers in these seats."""
        self._settle()
        self._divide(tuple(seats))

    def snapshot(self) -> Tuple[Any, ...]:
        """All of it, for back_to()."""
        return (self.epoch, self._done.copy(), self._seats, dict(self._processed),
                self._recorded.copy(), self.rank, self.num_replicas)

    def back_to(self, snapshot: Tuple[Any, ...]) -> None:
        """As it was."""
        self.epoch, done, seats, processed, recorded, self.rank, self.num_replicas = snapshot
        self._done = done.copy()
        self._cut(seats)
        self._processed = dict(processed)
        self._recorded = recorded.copy()

    # ---- inside

    def _divide(self, seats=None):
        now = session.current()
        seats = seats or now.seats_in
        if seats is None:
            self.rank, self.num_replicas = now.rank, now.size
        else:
            self.rank, self.num_replicas = seats.index(now.seat), len(seats)
        self._cut(seats)

    def _cut(self, seats):
        # By rank and num_replicas: what is to be done, in order, and this worker's part of it.
        order = numpy.arange(len(self.dataset))
        if self.shuffle:
            numpy.random.RandomState((self.seed + self.epoch) % _SEEDS).shuffle(order)
        self._order, self._seats, self._processed = order, seats, {}
        self._places = numpy.flatnonzero(~self._done)
        mine = self._part(self.rank)
        self.indices = order[self._places[mine]].tolist()
        self.num_samples = len(self.indices)
        self.total_size = self.num_samples * self.num_replicas
        self._recorded = numpy.zeros(self.num_samples, dtype=bool)
        self._by_index = None
        self._ends = [0]
        if self._per_step is not None:
            sizes = [len(self._step_of(self.rank, step)) for step in range(self._steps())]
            self._ends = [0, *numpy.cumsum(sizes).tolist()]

    def _steps(self):
        return -(-len(self._places) // self._per_step)

    def _part(self, place):
        # Of who has that place: in the order in which it is processed, where it is in _places.
        left = len(self._places)
        if not left:
            return numpy.zeros(0, dtype=int)
        if self._per_step is None:
            each = -(-left // self.num_replicas)
            return numpy.arange(place, each * self.num_replicas, self.num_replicas) % left
        return numpy.concatenate([self._step_of(place, step) for step in range(self._steps())])

    def _step_of(self, place, step):
        first = step * self._per_step
        size = min(self._per_step, len(self._places) - first)
        if size < self.num_replicas:  # One each, so that all make the same steps.
            return numpy.array([first + place % size])
        return numpy.arange(first + size * place // self.num_replicas,
                            first + size * (place + 1) // self.num_replicas)

    def _known_done(self):
        # With what was noted of others, and all that was recorded here.
        done = self._done.copy()
        for place in range(self.num_replicas):
            if place == self.rank or self._seats is None:  # Nobody is lost, and all go in step.
                count = self.processed_here
            else:
                count = self._processed.get(self._seats[place], 0)
            done[self._places[self._part(place)[:count]]] = True
        return done

    def _settle(self):
        self._done = self._known_done()


class Batches(torch.utils.data.Sampler):
    """See ElasticSampler.batches()."""

    def __init__(self, sampler: ElasticSampler) -> None:
        super().__init__(None)
        self._sampler = sampler

    def __iter__(self) -> Iterator[List[int]]:
        ends, indices = self._sampler.ends, self._sampler.indices
        return iter([indices[first:last] for first, last in zip(ends, ends[1:])])

    def __len__(self) -> int:
        return len(self._sampler.ends) - 1
