// SPDX-License-Identifier: Apache-2.0
// stretto-experiment: experiments with schedules of transfers and with the input tuner.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "common/build_version.h"
#include "common/config/program.h"
#include "experiments/io/io.h"
#include "experiments/replay/replay.h"
#include "experiments/settings.h"
#include "tools/bench/support/lab_delay.h"
#include "tools/bench/support/output.h"

namespace stretto::bench::experiments {
namespace {

constexpr int kUsageStatus = 2;

int refuse_arguments(const Status& status) {
  std::fprintf(stderr, "%s\n", arguments_line(status, "experiment").c_str());
  return kUsageStatus;
}

/// Prints an error line; returns the exit status.
int ended(Status status, std::string_view operation) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s\n",
               std::move(status).with_operation(operation).error_line("experiment", -1).c_str());
  return 1;
}

int print_help() {
  std::fputs(help_text().c_str(), stdout);
  return 0;
}

int experiment(std::span<const std::string> words) {
  if (words.empty()) {
    return refuse_arguments(
        {Code::kInvalidArgument, "wanted the name of an experiment; --help lists them"});
  }
  const std::string& name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return print_help();
  if (name == "--version") {
    std::printf("stretto-experiment %s\n", build_version().c_str());
    return 0;
  }
  // The role in which run_replay starts this program.
  if (name == "worker-role" && words.size() > 1 && words[1] == "replay") {
    return exit_status(run_replay_worker(words.subspan(2)));
  }
  if (name == "delay-role") return ended(run_delay_role(words.subspan(1)), name);
  const Result<Experiment> found = find_experiment(name);
  if (!found.ok()) return refuse_arguments(found.status());
  const Result<Settings> settings = read_settings(*found, words.subspan(1));
  if (!settings.ok()) return refuse_arguments(settings.status());
  if (settings->help) return print_help();
  Output output(settings->json);
  const bool replays = settings->experiment == Experiment::kReplay;
  return ended(replays ? run_replay(settings->replay, output) : run_io(settings->io, output), name);
}

}  // namespace
}  // namespace stretto::bench::experiments

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return stretto::finished(stretto::bench::experiments::experiment(words), "experiment");
}
