// SPDX-License-Identifier: Apache-2.0
// stretto-top: who is in a running job and how each one does, again and again in a terminal; once
// where stdout is none.
#include <gflags/gflags.h>
#include <unistd.h>

#include <cstdio>

#include "common/flags/flags.h"
#include "common/program.h"
#include "common/text.h"
#include "tools/trace/top.h"

DEFINE_string(job, "", "HOST:PORT: of the job's scheduler (STRETTO_SCHEDULER)");
DEFINE_double(every, 2, "SECONDS: between two tables, 0.1 to 3600 (2)");
DEFINE_bool(once, false, "one table, also in a terminal");

namespace stretto::observe {
namespace {

constexpr std::size_t kMostLines = 4096;
constexpr char kUsage[] =
    "usage: stretto-top --job HOST:PORT [--every SECONDS] [--once]\n\n"
    "Says who is in a running Stretto job, and how each one does. The job's token is read from\n"
    "STRETTO_JOB_TOKEN.";

// What is wrong with the command line.
Status check(const std::vector<std::string>& rest, const std::string& job) {
  if (!rest.empty()) {
    return {Code::kInvalidArgument, "'" + rest.front() + "' is not understood; --help says more"};
  }
  if (job.empty()) {
    return {Code::kInvalidArgument,
            "whose job? Give --job HOST:PORT, as the scheduler said \"listening at\""};
  }
  if (!(FLAGS_every >= 0.1 && FLAGS_every <= 3600)) {
    return {Code::kInvalidArgument, "--every wants seconds from 0.1 to 3600"};
  }
  return {};
}

Status top(const Environment& environment, const std::string& job) {
  auto observer = Observer::connect(job, environment("STRETTO_JOB_TOKEN").value_or(""));
  if (!observer.ok()) return observer.status();
  const bool again = isatty(STDOUT_FILENO) != 0 && !FLAGS_once;
  for (;;) {
    Result<std::string> table = table_of(**observer, kMostLines);
    if (!table.ok()) return table.status();
    // From the top left corner, and nothing of before below.
    std::printf("%s%s", again ? "\x1b[H\x1b[2J" : "", printable(*table, Lines::kKept).c_str());
    std::fflush(stdout);
    if (!again) return {};
    const auto pause =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(FLAGS_every));
    if (Status status = (*observer)->rest(pause); !status.ok()) return status;
  }
}

int run(const std::vector<std::string>& rest) {
  const Environment environment = process_environment();
  const std::string job =
      FLAGS_job.empty() ? environment("STRETTO_SCHEDULER").value_or("") : FLAGS_job;
  if (Status status = check(rest, job); !status.ok()) return flags::refuse(std::move(status));
  return exit_status(top(environment, job).with_operation("top"));
}

}  // namespace
}  // namespace stretto::observe

int main(int argc, char** argv) {
  const stretto::flags::Started started =
      stretto::flags::start(argc, argv, "top", stretto::observe::kUsage);
  return started.exit_status >= 0 ? started.exit_status : stretto::observe::run(started.rest);
}
