# SPDX-License-Identifier: Apache-2.0
"""stretto.torch.elastic: redistribution of samples in one process; and among several, some of which
are killed (elastic_worker.py)."""

import collections
import re
import tempfile
import unittest
import unittest.mock

import jobs

jobs.use_packages()

import torch  # pylint: disable=wrong-import-position

from stretto import errors, session  # pylint: disable=wrong-import-position
from stretto.input import write_tfrecord  # pylint: disable=wrong-import-position
from stretto.torch import elastic  # pylint: disable=wrong-import-position


class Seat:
    """Replaces the session of a job without exchanges."""

    alone = elastic = in_elastic_job = is_new = False
    keeping = None
    lost_as = begun = 0

    def __init__(self, seat, seats):
        self.seat, self.seats = seat, seats
        self.seats_in = tuple(range(seats))

    def check_usable(self):
        """No interrupt has occurred."""

    def next_step(self):
        """No worker joins."""
        return 0

    @property
    def rank(self):
        """As in a session."""
        return self.seats_in.index(self.seat)

    @property
    def size(self):
        """As in a session."""
        return len(self.seats_in)


class Samplers(unittest.TestCase):

    def begin(self, seats, samples, batches=None, shuffle=True):
        """A sampler of each worker, and the sessions that they see."""
        places = [Seat(seat, seats) for seat in range(seats)]
        samplers = []
        for place in places:
            self.see(place)
            samplers.append(elastic.ElasticSampler(range(samples), shuffle=shuffle))
            if batches:
                samplers[-1].batches(batches)
        return places, samplers

    def see(self, place):
        """Makes it the current session."""
        patch = unittest.mock.patch.object(session, "_current", place)
        patch.start()
        self.addCleanup(patch.stop)

    def go_on(self, places, samplers, lost):
        """Continues without some workers, after all others have reported their progress."""
        noted = {place.seat: sampler.processed_here for place, sampler in zip(places, samplers)}
        left = [(place, sampler) for place, sampler in zip(places, samplers)
                if place.seat not in lost]
        seats = tuple(place.seat for place, _ in left)
        for place, sampler in left:
            place.seats_in = seats
            self.see(place)
            sampler.note({seat: noted[seat] for seat in seats})
            sampler.divide(seats)
        return [place for place, _ in left], [sampler for _, sampler in left]

    def test_parts_are_those_of_a_distributed_sampler(self):
        _, samplers = self.begin(3, 10, shuffle=False)
        self.assertEqual([list(sampler) for sampler in samplers],
                         [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]])
        _, samplers = self.begin(3, 100)
        self.assertEqual(set().union(*samplers), set(range(100)))
        self.assertNotEqual(list(samplers[0]), sorted(samplers[0]))

    def test_fewer_samples_than_workers(self):
        _, samplers = self.begin(5, 2, shuffle=False)
        self.assertEqual([list(sampler) for sampler in samplers], [[0], [1], [0], [1], [0]])
        _, samplers = self.begin(2, 0)
        self.assertEqual([list(sampler) for sampler in samplers], [[], []])

    def test_what_is_left_is_divided_among_who_is_left(self):
        for batches in (None, 4):
            places, samplers = self.begin(4, 103, batches)
            seen = collections.Counter()
            for sampler in samplers:
                size = 4 if batches is None else sampler.ends[1]
                for batch in (0, 1):
                    sampler.record_batch(batch, 4)
                seen.update(sampler.indices[:2 * size])
            lost_at = {place.seat: sampler.processed_here
                       for place, sampler in zip(places, samplers)}
            for sampler in samplers:  # At a commit of all workers.
                sampler.note(lost_at)
            samplers[0].record_batch(2, 4)
            seen.update(samplers[0].indices[lost_at[0]:samplers[0].processed_here])
            samplers[2].record_batch(2, 4)  # Not committed, so that it is lost.
            places, samplers = self.go_on(places, samplers, lost={2})
            rest = [index for sampler in samplers for index in sampler.indices]
            self.assertEqual(set(seen) | set(rest), set(range(103)))
            self.assertEqual(set(seen) & set(rest), set())
            self.assertEqual(len({tuple(sampler.remaining_indices) for sampler in samplers}), 1)
            if batches is None:
                self.assertEqual(len({len(sampler) for sampler in samplers}), 1)

    def test_batches_are_of_all_samples_of_a_step_and_are_weighted(self):
        places, samplers = self.begin(4, 64, batches=4)
        self.assertEqual({sampler.weight() for sampler in samplers}, {1.0})
        places, samplers = self.go_on(places, samplers, lost={1})
        each = []
        for place, sampler in zip(places, samplers):
            self.see(place)
            each.append(list(sampler.batches(4)))
        self.assertEqual({len(batches) for batches in each}, {4})
        for step in zip(*each):
            self.assertEqual(sum(map(len, step)), 16)
        self.assertEqual([len(batches[0]) for batches in each], [5, 5, 6])
        self.assertEqual([round(16 * sampler.weight()) for sampler in samplers], [15, 15, 18])
        self.assertEqual(sum(sampler.weight() for sampler in samplers), 3.0)
        self.assertEqual(places[0].size, 3)

    def test_records_may_come_in_any_order(self):
        _, [sampler] = self.begin(1, 12, shuffle=False)
        sampler.record_batch(1, 4)
        self.assertEqual(sampler.processed_here, 0)
        sampler.record_indices([0, 1, 2, 3])
        self.assertEqual((sampler.processed_here, sampler.processed_num), (8, 8))
        sampler.record_indices([])
        sampler.record_indices([-1, 11, 12])  # Only one of those is in the dataset.
        sampler.record_indices({11})
        sampler.record_indices(torch.tensor([11]))
        self.assertEqual((sampler.processed_here, sampler.processed_num), (8, 8))
        with self.assertRaisesRegex(ValueError, "not of the type float64"):
            sampler.record_indices([8.5])
        sampler.record_indices(iter([8, 9]))
        self.assertEqual((sampler.processed_here, sampler.processed_num), (10, 10))
        sampler.reset()
        self.assertEqual(list(sampler), [10, 11])
        sampler.set_epoch(1)
        self.assertEqual(len(sampler), 12)

    def test_states_are_kept_and_taken(self):
        places, samplers = self.begin(2, 50)
        self.see(places[0])
        samplers[0].record_batch(0, 5)
        kept = samplers[0].snapshot()
        samplers[0].record_batch(1, 5)
        samplers[0].back_to(kept)
        self.assertEqual(samplers[0].processed_here, 5)
        told = samplers[0].state_dict()
        samplers[1].load_state_dict(told)
        self.assertEqual(samplers[1].processed_num, 5)
        with self.assertRaisesRegex(ValueError, "there are 50"):
            samplers[1].load_state_dict({"epoch": 0, "processed": b"1"})
        samplers[1].load_state_dict({"epoch": 3, "processed_num": 20})
        self.assertEqual((samplers[1].epoch, len(samplers[1].remaining_indices)), (3, 30))


class Readers(Samplers):
    """The tests of Samplers for files that are read in sequence."""

    test_parts_are_those_of_a_distributed_sampler = None
    test_fewer_samples_than_workers = None
    test_batches_are_of_all_samples_of_a_step_and_are_weighted = None
    test_records_may_come_in_any_order = None
    test_states_are_kept_and_taken = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/records"

    def begin(self, seats, samples, batches=None, shuffle=True):
        write_tfrecord(self.path, (str(number).encode() for number in range(samples)))
        places = [Seat(seat, seats) for seat in range(seats)]
        readers = []
        for place in places:
            self.see(place)
            readers.append(elastic.ElasticReader(self.path, 4, shuffle=shuffle, seed=3,
                                                 shuffle_block_bytes=1))
        return places, readers

    def read(self, place, reader, batches=None):
        """The numbers in some of its batches, which are then recorded, or in all."""
        self.see(place)
        found = []
        for index, batch in enumerate(reader):
            if index == batches:
                break
            found += [int(bytes(sample)) for sample in batch]
            reader.record_batch(index)
        return found

    def test_what_is_left_is_divided_among_who_is_left(self):
        for samples in (103, 7, 1):
            places, readers = self.begin(4, samples)
            seen = []
            for place, reader in zip(places, readers):
                seen += self.read(place, reader, batches=2)
            for reader in readers:
                self.see(places[readers.index(reader)])
                reader.note({place.seat: min(8, 26 - (place.seat == 3)) for place in places})
            self.read(places[2], readers[2], batches=3)  # Not committed, so that they are lost.
            for lost in ({2}, {0}):
                for place, reader in zip(places, readers):
                    self.see(place)
                    place.processed_here = reader.processed_here
                places, readers = self.go_on(places, readers, lost)
                self.assertEqual(len({len(reader) for reader in readers}), 1)
            rest = [self.read(place, reader) for place, reader in zip(places, readers)]
            self.assertEqual(len(set(map(len, rest))), 1)
            self.assertEqual(set(seen) | set().union(*rest), set(range(samples)))

    def test_states_of_another_order_are_refused(self):
        places, [reader, _] = self.begin(2, 50)
        self.see(places[0])
        write_tfrecord(f"{self.path}2", [b"100"])
        paths = [self.path, f"{self.path}2"]
        told = elastic.ElasticReader(paths, 4).state_dict()
        elastic.ElasticReader(paths, 4).load_state_dict(told)
        for other in (elastic.ElasticReader(paths[::-1], 4), reader,
                      elastic.ElasticReader(paths, 4, shuffle=True)):
            with self.assertRaisesRegex(errors.Mismatch, "another order of files.*sorted"):
                other.load_state_dict(told)

    def test_who_comes_gets_a_part(self):
        places, readers = self.begin(2, 50)
        seen = self.read(places[0], readers[0], 2) + self.read(places[1], readers[1], 2)
        new = Seat(2, 3)
        for place, reader in zip(places, readers):
            self.see(place)
            place.seats_in = (0, 1, 2)
            reader.note({0: 8, 1: 8})
            reader.divide((0, 1, 2))
        told = readers[0].state_dict()
        self.see(new)
        readers.append(elastic.ElasticReader(self.path, 4, shuffle=True, seed=3,
                                             shuffle_block_bytes=1))
        readers[2].load_state_dict(told)
        rest = [self.read(place, reader) for place, reader in zip((*places, new), readers)]
        self.assertEqual(list(map(len, rest)), [12, 12, 12])
        self.assertEqual(sorted({*seen, *(number for part in rest for number in part)}),
                         list(range(50)))
        self.see(new)
        readers[2].set_epoch(1)
        self.assertEqual(len(self.read(new, readers[2])), 17)

    def test_places_are_kept(self):
        [place], [reader] = self.begin(1, 20, shuffle=False)
        self.assertEqual(self.read(place, reader, 2), list(range(8)))
        kept = reader.snapshot()
        self.read(place, reader)
        reader.back_to(kept)
        told = reader.state_dict()
        reader.load_state_dict(told)
        self.assertEqual(self.read(place, reader), list(range(8, 20)))
        with self.assertRaisesRegex(ValueError, "none may be left out"):
            elastic.ElasticReader(self.path, 4, on_error="skip")


class Running(unittest.TestCase):
    """In a job of one, without exchanges."""

    def setUp(self):
        patch = unittest.mock.patch.object(session, "_current", Seat(0, 1))
        patch.start()
        self.addCleanup(patch.stop)
        session._current.alone = True

    def test_run_begins_again(self):
        model = torch.nn.Linear(1, 1)
        state = elastic.TorchState(model=model, batch=0, seen=[])
        ends = [elastic.HostsUpdatedInterrupt(True), elastic.HorovodInternalError("wanted"),
                errors.MembersChanged("wanted"), None]
        state.register_reset_callbacks([lambda: state.seen.append("reset")])

        @elastic.run
        def train(state, more):
            state.batch += 1
            state.seen.append(state.batch)
            with torch.no_grad():
                model.weight.fill_(state.batch)
            end = ends.pop(0)
            if isinstance(end, elastic.HostsUpdatedInterrupt):
                state.commit()
            if end is not None:
                raise end
            return more

        self.assertEqual(train(state, "more"), "more")
        # The first commit stays; errors restore it.
        self.assertEqual(state.seen, [1, "reset", "reset", 2])
        self.assertEqual((state.batch, model.weight.item()), (2, 2.0))

    def test_other_errors_end_it(self):
        state = elastic.ObjectState(value=1)

        @elastic.run
        def train(state):
            state.value = 2
            raise errors.ServerLost("server 0 is lost")

        with self.assertRaises(errors.ServerLost):
            train(state)
        self.assertEqual(state.value, 2)


class Losses(jobs.PythonTest):

    def test_the_pages_program(self):
        page = (jobs.cluster.SOURCE / "docs" / "ELASTIC.md").read_text(encoding="utf-8")
        [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        job = self.launch(jobs.sys.executable, "-c", program, workers="1:2")
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())

    def test_parameters_and_samples_outlive_who_has_them(self):
        job = self.python("elastic_worker.py", workers="1:5")
        self.assertEqual(job.end(jobs.TORCH_PATIENCE), 0, job.output())
        ends = re.findall(r"\] state (.*)", job.output())
        self.assertEqual(len(ends), 2, job.output())
        self.assertEqual(len(set(ends)), 1, job.output())
        self.assertIn("on_loss='redistribute'", job.output())
        self.assert_nobody_left()


if __name__ == "__main__":
    unittest.main()
