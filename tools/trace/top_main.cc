// SPDX-License-Identifier: Apache-2.0
// stretto-top: the members of a running job and their state, refreshed in a terminal; printed once
// if stdout is no terminal.
#include <fmt/core.h>
#include <gflags/gflags.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "common/config/job_file.h"
#include "common/config/job_secret.h"
#include "common/config/program.h"
#include "common/flags/flags.h"
#include "common/text.h"
#include "tools/trace/attach.h"
#include "tools/trace/top.h"

DEFINE_string(job, "",
              "JOB: its name or process, or HOST:PORT of its scheduler (STRETTO_SCHEDULER)");
DEFINE_double(every, 2, "SECONDS: between two tables, 0.1 to 3600 (2)");
DEFINE_int32(stack, -1, "RANK: what the threads of this worker do now, Python's too");
DEFINE_int32(move, -1, "SERVER: hand its place over to another process, and say when that is done");
DEFINE_string(to, "", "HOST: where that runs; on another host of the job if not given");
DEFINE_bool(list, false, "your jobs on this host: names, addresses, programs");
DEFINE_bool(once, false, "one table, also in a terminal; with --json one line");
DEFINE_bool(json, false, "a line of JSON for each job, again and again until the jobs have ended");

namespace stretto::observe {
namespace {

constexpr std::size_t kMostLines = 4096;
constexpr char kUsage[] =
    "usage: stretto-top [--job JOB] [--every SECONDS] [--once] [--json] [--stack RANK]\n"
    "       stretto-top [--job JOB] --move SERVER [--to HOST]\n"
    "       stretto-top --list\n\n"
    "Says who is in a running Stretto job, and how each one does. Without --job: your job on this\n"
    "host, or a list if there are several. For HOST:PORT elsewhere the job's token is read from\n"
    "STRETTO_JOB_TOKEN.";

bool is_given(const char* flag) { return !gflags::GetCommandLineFlagInfoOrDie(flag).is_default; }

// Checks the command line.
Status check(const std::vector<std::string>& rest) {
  if (!rest.empty()) {
    return {Code::kInvalidArgument, "'" + rest.front() + "' is not understood; --help says more"};
  }
  const bool moves = is_given("move");
  const bool shows = is_given("stack");
  if ((moves && FLAGS_move < 0) || (shows && FLAGS_stack < 0)) {
    return {Code::kInvalidArgument,
            fmt::format("{} is {}, wanted a number from 0 on", moves ? "--move" : "--stack",
                        moves ? FLAGS_move : FLAGS_stack)};
  }
  if (FLAGS_list && (moves || shows || !FLAGS_job.empty())) {
    return {Code::kInvalidArgument, "--list shows all jobs; leave out --job, --move and --stack"};
  }
  if (FLAGS_json && (FLAGS_list || moves || shows)) {
    return {Code::kInvalidArgument,
            "--json follows jobs as they run; leave out --list, --move and --stack"};
  }
  if (moves && shows) {
    return {Code::kInvalidArgument, "--move and --stack are two things; ask for one at a time"};
  }
  if (!FLAGS_to.empty() && FLAGS_move < 0) {
    return {Code::kInvalidArgument,
            "--to says where a server moves to; say which by --move SERVER"};
  }
  if (!(FLAGS_every >= 0.1 && FLAGS_every <= 3600)) {
    return {Code::kInvalidArgument, "--every wants seconds from 0.1 to 3600"};
  }
  return {};
}

Status show_stack(ObserverClient& observer, std::uint32_t rank) {
  for (;;) {  // The scheduler drops an unresponsive worker.
    Result<Observation> stack = observer.stack(rank);
    if (!stack.ok()) return stack.status();
    if (!stack->text.empty()) {
      std::printf("worker %u\n%s", rank, printable(stack->text, Lines::kKept).c_str());
      return {};
    }
    if (Status status = observer.rest(100ms); !status.ok()) return status;
  }
}

Status move(ObserverClient& observer, Rank server) {
  const Result<Rank> moved = observer.move(server, FLAGS_to);
  if (!moved.ok()) return moved.status();
  std::printf("server %u has the place of server %u now\n", *moved, server);
  return {};
}

Duration pause() {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(FLAGS_every));
}

Status top(const Target& target) {
  auto observer = ObserverClient::connect(target);
  if (!observer.ok()) return observer.status();
  if (FLAGS_stack >= 0) return show_stack(**observer, static_cast<std::uint32_t>(FLAGS_stack));
  if (FLAGS_move >= 0) return move(**observer, static_cast<Rank>(FLAGS_move));
  const bool again = isatty(STDOUT_FILENO) != 0 && !FLAGS_once;
  for (;;) {
    Result<std::string> table = table_of(**observer, kMostLines);
    if (!table.ok()) return table.status();
    // Starts at the top left corner, on a cleared screen.
    const std::string shown = fmt::format("{}\n{}", title_of(target), *table);
    std::printf("%s%s", again ? "\x1b[H\x1b[2J" : "", printable(shown, Lines::kKept).c_str());
    std::fflush(stdout);
    if (!again) return {};
    if (Status status = (*observer)->rest(pause()); !status.ok()) return status;
  }
}

double now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct Followed {
  Target target;
  std::unique_ptr<ObserverClient> observer;
};

// With several jobs; the end of a single job ends this program.
void warn_of_drop(const Target& target, const Status& why) {
  std::fprintf(stderr, "stretto-top: drops job %s: %s; start stretto-top again if the job runs\n",
               printable(title_of(target)).c_str(), printable(why.cause()).c_str());
}

// Drops an unreachable job. `last` keeps the cause.
void drop(std::vector<Followed>& jobs, std::size_t index, Status& last, Status why) {
  last = std::move(why);
  jobs.erase(jobs.begin() + static_cast<std::ptrdiff_t>(index));
}

// Prints a line for each job, until all have ended.
Status follow(const std::vector<Target>& targets) {
  std::vector<Followed> jobs;
  Status last;
  for (const Target& target : targets) {
    auto observer = ObserverClient::connect(target);
    if (observer.ok()) {
      jobs.push_back({target, std::move(*observer)});
    } else {
      last = observer.status();
      if (targets.size() > 1) warn_of_drop(target, last);
    }
  }
  if (jobs.empty()) return last;
  for (;;) {
    for (std::size_t i = 0; i < jobs.size();) {
      const Target& target = jobs[i].target;
      const LineHead head{now_s(), target.name, target.scheduler};
      Result<std::string> line = line_of(*jobs[i].observer, head, kMostLines);
      if (!line.ok()) {
        if (targets.size() > 1) warn_of_drop(target, line.status());
        drop(jobs, i, last, line.status());
        continue;
      }
      std::fputs(line->c_str(), stdout);
      ++i;
    }
    if (std::fflush(stdout) != 0) return {Code::kResource, "standard output cannot be written"};
    if (FLAGS_once) return jobs.empty() ? last : Status();
    // The first job is polled for the whole pause, all others briefly.
    for (std::size_t i = jobs.size(); i-- > 0;) {
      Status status = jobs[i].observer->rest(i == 0 ? pause() : Duration(1ms));
      if (status.ok()) continue;
      if (targets.size() > 1) warn_of_drop(jobs[i].target, status);
      drop(jobs, i, last, std::move(status));
    }
    const bool ended = last.code() == Code::kSchedulerLost;  // A job's usual end.
    if (jobs.empty()) return ended ? Status() : last;
  }
}

int run(const std::vector<std::string>& rest) {
  if (Status status = check(rest); !status.ok()) return flags::refuse(status);
  const Environment environment = process_environment();
  const std::string job =
      FLAGS_job.empty() ? environment("STRETTO_SCHEDULER").value_or("") : FLAGS_job;
  const std::vector<KnownJob> jobs = known_jobs(job_folders(environment));
  if (FLAGS_json && job.empty() && jobs.size() > 1) {
    std::vector<Target> targets;
    for (const KnownJob& known : jobs) {
      targets.push_back({known.scheduler, known.token, known.encrypts, known.name, known.zmq});
    }
    return exit_status(follow(targets).with_operation("top"));
  }
  if (FLAGS_list || (job.empty() && jobs.size() > 1)) {
    std::fputs(printable(list_of(jobs, std::time(nullptr)), Lines::kKept).c_str(), stdout);
    return 0;
  }
  const Result<bool> encrypts = encrypts_told(environment);
  if (!encrypts.ok()) return flags::refuse(encrypts.status());
  const Result<Target> target = target_of(jobs, job, environment("STRETTO_JOB_TOKEN").value_or(""),
                                          *encrypts, zmq_told(environment));
  if (!target.ok()) return flags::refuse(target.status());
  return exit_status((FLAGS_json ? follow({*target}) : top(*target)).with_operation("top"));
}

}  // namespace
}  // namespace stretto::observe

int main(int argc, char** argv) {
  const stretto::flags::Started started =
      stretto::flags::start(argc, argv, "top", stretto::observe::kUsage);
  const int status =
      started.exit_status >= 0 ? started.exit_status : stretto::observe::run(started.rest);
  return stretto::finished(status, "top");
}
