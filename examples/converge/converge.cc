// SPDX-License-Identifier: Apache-2.0
// Trains a small model on several workers in any mode, optionally with a straggler. Reports the
// cost and gain of the mode in updates and time. Worker 0 prints one line of JSON.
//
//   stretto-launch --workers 4 --servers 2 -- stretto-converge --mode eager_async --slow 6
#include <stretto/worker.h>

#include <cstdio>

#include "common/flags/flags.h"
#include "examples/converge/report.h"
#include "examples/converge/settings.h"
#include "examples/converge/tasks.h"
#include "examples/converge/training.h"

int main(int argc, char** argv) {
  const int status =
      stretto::flags::start_with_flags_only(argc, argv, "converge", converge::kUsage);
  if (status >= 0) return status;
  const converge::Settings settings = converge::settings_from_flags().or_exit();
  converge::Task task = converge::make_task(settings.task, settings.data).or_exit();

  stretto::Worker worker = stretto::Worker::join().or_exit();
  const converge::Outcome outcome = converge::train(worker, settings, task).or_exit();
  const stretto::Rank rank = worker.rank();
  worker.leave().or_exit();

  if (rank == 0) std::puts(converge::report(settings, outcome, task).c_str());
}
