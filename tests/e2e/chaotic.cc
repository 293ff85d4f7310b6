// SPDX-License-Identifier: Apache-2.0
// The worker of tools/chaos: goes through the phases of a job; in one of them one rank blocks until
// it is released, so that a fault meets the job there, or exits there. Every sum is compared: a
// small one means a lost update, a large one a duplicate.
#include <fcntl.h>
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/worker.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/config/config.h"

DEFINE_string(phase, "training", "start, declare, training, barrier or leaving: where to stop");
DEFINE_int64(rank, 0, "Who stops there");
DEFINE_string(gate, "", "A FIFO that holds it there until it is opened for writing");
DEFINE_string(fault, "", "What it does once it goes on: exit0, exit1 or abort; empty: nothing");
DEFINE_int64(rounds, 60, "Rounds; it stops in the middle");
DEFINE_int64(elements, 20'000, "Elements of the tensor");

namespace stretto {
namespace {

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void pass(const std::string& phase) {
  if (phase != FLAGS_phase || process_environment()("STRETTO_RANK") != std::to_string(FLAGS_rank))
    return;
  say("stops at " + phase);
  ::close(::open(FLAGS_gate.c_str(), O_RDONLY));  // Until a process has it open for writing.
  if (FLAGS_fault == "exit0") std::exit(0);
  if (FLAGS_fault == "exit1") std::exit(1);
  if (FLAGS_fault == "abort") std::abort();
}

void compare(const std::vector<float>& sums, float wanted) {
  std::size_t lost = 0;
  std::size_t doubled = 0;
  for (const float sum : sums) {
    if (sum < wanted) ++lost;
    if (sum > wanted) ++doubled;
  }
  if (lost + doubled > 0) say(fmt::format("wrong lost={} doubled={}", lost, doubled));
}

void run() {
  say("runs");
  pass("start");
  Worker worker = Worker::join().or_exit();
  pass("declare");
  const auto elements = static_cast<std::size_t>(FLAGS_elements);
  Tensor tensor = worker.declare("chaos", Dtype::kF32, elements).or_exit();
  std::vector<float> mine(elements);
  std::vector<float> sums(elements);
  const auto size = static_cast<float>(worker.size());
  for (std::int64_t round = 0; round < FLAGS_rounds; ++round) {
    if (round == FLAGS_rounds / 2) pass("training");
    const auto value = static_cast<float>(round % 100);
    mine.assign(elements, value + static_cast<float>(worker.rank()));
    worker.push_pull(tensor, mine, sums).wait().or_exit();
    compare(sums, size * value + size * (size - 1) / 2);
  }
  pass("barrier");
  worker.barrier().or_exit();
  pass("leaving");
  worker.leave().or_exit();
  say("done");
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
}
