// SPDX-License-Identifier: Apache-2.0
// The worker of `tools/chaos moves`: parameters that servers keep, of which each step pushes and
// pulls some, and a file with the end and the length of each step.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/worker.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

DEFINE_uint64(steps, 100, "Steps");
DEFINE_uint64(tensors, 256, "Tensors");
DEFINE_uint64(elements, 65'536, "Elements of each");
DEFINE_uint64(touched, 8, "Tensors that a step pushes and pulls");
DEFINE_string(times, "", "The file, with the rank behind its name");

namespace stretto {
namespace {

using Clock = std::chrono::steady_clock;

void run() {
  Worker worker = Worker::join().or_exit();
  std::vector<Tensor> tensors;
  const RuleOptions momentum{.rule = Rule::kMomentum, .rate = 0.001};
  for (std::uint64_t i = 0; i < FLAGS_tensors; ++i) {
    tensors.push_back(
        worker.declare(fmt::format("t{}", i), Dtype::kF32, FLAGS_elements, {.update = momentum})
            .or_exit());
  }
  std::vector<std::vector<float>> values(FLAGS_tensors, std::vector<float>(FLAGS_elements, 1));
  for (std::uint64_t i = 0; i < FLAGS_tensors; ++i) {  // All tensors exist before the first step.
    worker.push_pull(tensors[i], values[i], values[i]).wait().or_exit();
  }
  std::FILE* file = std::fopen(fmt::format("{}.{}", FLAGS_times, worker.rank()).c_str(), "w");
  std::printf("begun\n");
  std::fflush(stdout);
  for (std::uint64_t step = 0; step < FLAGS_steps; ++step) {
    const Clock::time_point begin = Clock::now();
    std::vector<Ticket> tickets;
    for (std::uint64_t i = 0; i < FLAGS_touched; ++i) {
      const std::uint64_t which = (step * FLAGS_touched + i) % FLAGS_tensors;
      tickets.push_back(worker.push_pull(tensors[which], values[which], values[which]));
    }
    for (Ticket& ticket : tickets) ticket.wait().or_exit();
    if (file == nullptr) continue;
    const Clock::time_point end = Clock::now();
    fmt::print(file, "{} {}\n", end.time_since_epoch().count(), (end - begin).count());
    std::fflush(file);
  }
  worker.leave().or_exit();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
  return 0;
}
