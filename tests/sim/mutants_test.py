#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Proves that the simulator bites: bugs are planted one at a time, and each must be caught.

A mutant is a handful of textual edits to the sources, compiled as the build does and linked before
the unchanged libraries: single files, or what a unity build makes of several. The simulation must
fail with the invariant that the bug breaks; the same seeds pass without it. An edit whose text is
no longer found fails the test: mutants must not go stale. Some are bugs that parameter servers have
really had (a barrier that counts, an ack on receipt, a value that the next round overwrites).
"""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("STRETTO_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("STRETTO_BUILD_DIR", SOURCE / "build"))
SEEDS = os.environ.get("STRETTO_MUTANT_SEEDS", "1000")

VALUES = "values equal the oracle"
HANG = "no hang"
INNOCENT = "no error without a cause"

# Name, the invariant that must trip, and the edits: file, text, replacement.
MUTANTS = [
    ("a barrier that counts messages instead of who came", "barriers wait for all", [
        ("scheduler/barrier.cc", "here.insert(node);",
         "here.insert(node + 100000 * static_cast<NodeId>(here.size()));")]),
    ("contributors counted, not a set", VALUES, [
        ("server/shard.cc", "if (cell.consistency().repeated(rank, header.version)) {",
         "if (header.version == 0) {"),
        ("server/consistency.cc", "if (round != rounds_[rank] + 1) {",
         "if (round > rounds_[rank] + 1) {"),
        ("server/consistency.cc", "if (collects(assign) && here_[rank]) {",
         "if (round == 0 && here_[rank]) {"),
    ]),
    ("a push acked on receipt, before it is applied", "acked is applied", [
        ("server/shard.cc", "  Result<Cell*> found = find_cell(header);\n"
         "  if (!found.ok()) return fault(link, header, found.status());\n"
         "  Cell& cell = **found;\n"
         "  if (waits_too_often(cell, rank)) return van_.refuse(link, too_many_waits());\n"
         "  const TensorSpec& spec = tensors_.at(header.key.tensor).spec;\n"
         "  if (payload.size() != 0",
         "  van_.ack(link, header.push_sequence, true);\n"
         "  Result<Cell*> found = find_cell(header);\n"
         "  if (!found.ok()) return fault(link, header, found.status());\n"
         "  Cell& cell = **found;\n"
         "  if (waits_too_often(cell, rank)) return van_.refuse(link, too_many_waits());\n"
         "  const TensorSpec& spec = tensors_.at(header.key.tensor).spec;\n"
         "  if (payload.size() != 0")]),
    ("a shard that stops receiving at a tensor it does not know", HANG, [
        ("server/shard.cc", "void Shard::step(Duration wait) {\n  van_.step(*this, wait);",
         "static std::map<const Shard*, bool> blocked;\n"
         "void Shard::step(Duration wait) {\n  if (!blocked[this]) van_.step(*this, wait);"),
        ("server/shard.cc", "Result<Cell*> Shard::find_cell(const wire::Header& header) {\n",
         "static std::map<const Shard*, bool>& blocked_shards();\n"
         "Result<Cell*> Shard::find_cell(const wire::Header& header) {\n"
         "  if (tensors_.count(header.key.tensor) == 0) blocked_shards()[this] = true;\n"),
        ("server/shard.cc", "// ---- errors and stalls",
         "static std::map<const Shard*, bool>& blocked_shards() { return blocked; }\n"
         "// ---- errors and stalls"),
    ]),
    ("a stop message honoured before authentication", INNOCENT, [
        ("van/van.cc", "return ours ? message.has_welcome() || message.has_fault() "
         ": message.has_hello();", "return ours || message.body_case() != 0;"),
        ("scheduler/scheduler.cc", "  if (known == by_link_.end()) return;\n"
         "  Node& node = nodes_.at(known->second);\n  node.last_heard",
         "  if (known == by_link_.end()) {\n"
         "    if (message.has_leave()) phase_ = Phase::kOver;\n    return;\n  }\n"
         "  Node& node = nodes_.at(known->second);\n  node.last_heard"),
    ]),
    ("a value that later updates overwrite while it is being sent", VALUES, [
        ("server/cell.cc", "  } else if (!value_.bytes.exclusive()) {\n"
         "    value_.bytes = own_copy(value_.bytes);\n  }\n"
         "  return value_.bytes.writable();",
         "  }\n  return {const_cast<std::byte*>(value_.bytes.data()), bytes_};")]),
    ("hand-over without bounds", "in flight within limits", [
        ("van/send_queue.cc",
         "return under_way == 0 || under_way + half <= window;",
         "return under_way + half + window > 0;")]),
    ("a staleness bound that nobody checks", "the bound holds", [
        ("server/consistency.cc", "return !gate.bounded || within_bound(rank);",
         "return gate.version <= version_ + bound_ * rounds_[rank];")]),
    ("memory given back while frames still read it", "leases return", [
        ("worker/exchange.cc",
         "if (operation->leases.load() > 0) {  // Even if the far end says done.",
         "if (operation->id == 0) {")]),
    ("silence that the scheduler does not notice", HANG, [
        ("scheduler/scheduler.cc", "now - node.last_heard > config_.job.dead_after",
         "now - node.last_heard > config_.job.dead_after * 1000")]),
    ("a ticket that ends one part too early", VALUES, [
        ("worker/exchange.cc",
         "if (!operation->cancelled && --operation->parts_left == 0) end(operation, {});",
         "if (--operation->parts_left == (operation->id % 2)) end(operation, {});")]),
    ("an error that names nobody", "errors name the cause", [
        ("scheduler/scheduler.cc",
         'fmt::format("{} is lost: {}", node.member.describe(), cause))\n'
         "           .with_peer(node.member.describe()));",
         'fmt::format("a node is lost: {}", cause)));')]),
    ("an eager pull that is answered with a push's value", VALUES, [
        ("server/shard.cc", "if (waiter.wants_value && waiter.pushed) header.flags",
         "if (waiter.wants_value && (waiter.pushed || waiter.rank == 0)) header.flags")]),
    ("an eager round that replaces the value", VALUES, [
        ("server/cell.cc", "  } else if (rule_ != nullptr) {\n    apply(sum,",
         "  } else if (rule_ != nullptr && workers_ != 3) {\n    apply(sum,")]),
    ("a version that goes back", "versions never go back", [
        ("server/cell.cc", "if (completed) value_.version = consistency_.version();",
         "if (completed) value_.version = consistency_.version() % 5;")]),
]


class Workshop:
    """Compiles what holds a file as the build does, and links it before the unchanged libraries."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        commands = json.loads((BUILD / "compile_commands.json").read_text())
        self.commands = {entry["file"]: shlex.split(entry["command"]) for entry in commands}
        self.unit_of = {}  # Of each file the one that is compiled: itself, or a unity source.
        for unit in self.commands:
            self.unit_of[unit] = unit
            if "/Unity/" in unit:
                for file in re.findall(r'#include "(.*)"', pathlib.Path(unit).read_text()):
                    self.unit_of[file] = unit
        linking = subprocess.run(["ninja", "-t", "commands", "tests/test_sim"], check=True,
                                 cwd=BUILD, stdout=subprocess.PIPE, text=True)
        # As it stands in the build's rules: ": && the linker's words && :".
        self.linking = shlex.split(
            linking.stdout.splitlines()[-1].removeprefix(": &&").removesuffix("&& :"))

    def compile(self, texts, number):
        """The objects of the units in which these files are, with these texts instead."""
        places = {}
        for name, text in texts.items():
            places[name] = self.folder / f"{number}_{name.replace('/', '_')}"
            places[name].write_text(text)
        units = {}
        for name in texts:
            units.setdefault(self.unit_of[str(SOURCE / name)], []).append(name)
        return [self.compile_unit(unit, {name: places[name] for name in names}, number)
                for unit, names in units.items()]

    def compile_unit(self, unit, places, number):
        if "/Unity/" in unit:
            text = pathlib.Path(unit).read_text()
            for name, place in places.items():
                text = text.replace(f'"{SOURCE / name}"', f'"{place}"')
            target = self.folder / f"{number}_{unit[len(str(BUILD)) + 1:].replace('/', '_')}"
            target.write_text(text)
        else:
            [target] = places.values()
        command = list(self.commands[unit])
        if pathlib.Path(command[0]).name == "ccache":
            command = command[1:]
        command[command.index("-o") + 1] = f"{target}.o"
        command[command.index("-c") + 1] = str(target)
        words = [a for a in command if a not in ("-Werror", "-O2")] + ["-O0", "-w"]
        subprocess.run(words, check=True, cwd=BUILD)
        return f"{target}.o"

    def link(self, objects, number):
        """The simulator, with these objects instead of the libraries' own."""
        program = self.folder / f"mutant{number}"
        before, after = self.linking[:self.linking.index("-o")], self.linking[
            self.linking.index("-o") + 2:]
        subprocess.run([*before, *objects, "-o", str(program), *after], check=True, cwd=BUILD)
        return program


def simulate(program):
    """Exit status, the invariant that tripped or None, and the seed."""
    done = subprocess.run(
        [str(program), "--gtest_filter=Simulation.Every*"], capture_output=True, text=True,
        timeout=300, env=dict(os.environ, STRETTO_SIM_SEEDS=SEEDS, STRETTO_SIM_FIRST_SEED="1"))
    invariant = re.search(r"^invariant: (.*)$", done.stdout, re.MULTILINE)
    seed = re.search(r"STRETTO_SIM_FIRST_SEED=(\d+)", done.stdout)
    return (done.returncode, invariant and invariant.group(1), seed and int(seed.group(1)),
            done.stdout[-2000:] + done.stderr[-2000:])


class Mutants(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.workshop = Workshop(folder.name)

    def test_unchanged_sources_pass(self):
        status, invariant, seed, output = simulate(self.workshop.link([], "none"))
        self.assertEqual(0, status, f"{invariant} at seed {seed}\n{output}")

    def test_every_planted_bug_trips_its_invariant(self):
        for number, (name, wanted, edits) in enumerate(MUTANTS):
            with self.subTest(name):
                texts = {}
                for file, old, new in edits:
                    text = texts.get(file) or (SOURCE / file).read_text()
                    self.assertEqual(1, text.count(old), f"stale edit in {file}: {old}")
                    texts[file] = text.replace(old, new)
                objects = self.workshop.compile(texts, number)
                _, invariant, seed, output = simulate(self.workshop.link(objects, number))
                self.assertEqual(wanted, invariant, output)
                print(f"caught at seed {seed}: {name} ({invariant})", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
