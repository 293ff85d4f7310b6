// SPDX-License-Identifier: Apache-2.0
// stretto-bench: measures the speed of this machine and of Stretto on it.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "common/build_version.h"
#include "common/config/program.h"
#include "tools/bench/exchange/worker_role.h"
#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/lab_delay.h"
#include "tools/bench/support/output.h"

namespace stretto::bench {
namespace {

constexpr int kUsageStatus = 2;

int refuse_arguments(const Status& status) {
  std::fprintf(stderr, "%s\n", arguments_line(status, "bench").c_str());
  return kUsageStatus;
}

int refuse(Status status, std::string_view operation, int exit_status) {
  std::fprintf(stderr, "%s\n",
               std::move(status).with_operation(operation).error_line("bench", -1).c_str());
  return exit_status;
}

int print_help() {
  std::fputs(help_text().c_str(), stdout);
  return 0;
}

Status run(const Settings& settings) {
  Output output(settings.json);
  switch (settings.benchmark) {
    case Benchmark::kLimits:
      return run_limits(settings, output);
    case Benchmark::kIdle:
      return run_idle(settings, output);
    case Benchmark::kPreempt:
      return run_preempt(settings, output);
    case Benchmark::kCodec:
      return run_codec(settings, output);
    case Benchmark::kQueue:
      return run_queue(settings, output);
    case Benchmark::kRpc:
      return run_rpc(settings, output);
    case Benchmark::kRecover:
      return run_recover(settings, output);
    default:
      return run_exchange(settings, output);
  }
}

int bench(std::span<const std::string> words) {
  if (words.empty()) {
    return refuse_arguments(
        {Code::kInvalidArgument, "wanted the name of a benchmark; --help lists them"});
  }
  const std::string& name = words.front();
  if (name == "--help" || name == "-h" || name == "help") return print_help();
  if (name == "--version") {
    std::printf("stretto-bench %s\n", build_version().c_str());
    return 0;
  }
  if (name == "worker-role") return exit_status(run_worker_role(words.subspan(1)));
  if (name == "delay-role") return refuse(run_delay_role(words.subspan(1)), name, 1);
  const Result<Benchmark> benchmark = find_benchmark(name);
  if (!benchmark.ok()) return refuse_arguments(benchmark.status());
  const Result<Settings> settings = read_settings(*benchmark, words.subspan(1));
  if (!settings.ok()) return refuse_arguments(settings.status());
  if (settings->help) return print_help();
  const Status status = run(*settings);
  return status.ok() ? 0 : refuse(status, name, 1);
}

}  // namespace
}  // namespace stretto::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return stretto::finished(stretto::bench::bench(words), "bench");
}
