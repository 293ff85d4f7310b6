// SPDX-License-Identifier: Apache-2.0
// Parses the task and runs it, including the trivial idle one.
#include "tools/bench/exchange/worker_role.h"

#include <unistd.h>

#include <limits>

#include "stretto/worker.h"
#include "tools/bench/support/flags.h"
#include "tools/bench/support/report_pipe.h"

namespace stretto::bench {
namespace {

Result<Task> read_task(std::span<const std::string> words) {
  if (words.empty()) return invalid("worker-role wants the name of a benchmark");
  const Result<Benchmark> benchmark = find_benchmark(words[0]);
  if (!benchmark.ok()) return benchmark.status();
  Task task{.benchmark = *benchmark};
  constexpr std::uint64_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::vector<Flag> flags{whole_flag("bytes", 4, std::uint64_t{1} << 40, task.bytes),
                                seconds_flag("seconds", 0, 1e6, task.seconds),
                                whole_flag("inflight", 0, kMost, task.inflight),
                                exchange_flag(task.exchange),
                                whole_flag("report_fd", 0, kMost, task.report_descriptor),
                                whole_flag("until_fd", 0, kMost, task.until_descriptor)};
  if (Status status = read_flags(words.subspan(1), flags); !status.ok()) return status;
  return task;
}

Status idle(const Task& task) {
  Result<Worker> worker = Worker::join();
  if (!worker.ok()) return worker.status();
  Status status = write_report(task.report_descriptor, {.rank = worker->rank()});
  if (!status.ok()) return status;
  char nothing = 0;
  while (::read(task.until_descriptor, &nothing, 1) > 0) {
  }
  return worker->leave();
}

}  // namespace

Status run_worker_role(std::span<const std::string> words) {
  if (!words.empty() && words[0] == name_of(Benchmark::kRecover)) {
    return run_recover_worker(words.subspan(1));
  }
  const Result<Task> task = read_task(words);
  if (!task.ok()) return task.status();
  return task->benchmark == Benchmark::kIdle ? idle(*task) : exchange(*task);
}

}  // namespace stretto::bench
