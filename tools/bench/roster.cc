// SPDX-License-Identifier: Apache-2.0
// A real scheduler, and crowds of workers in processes of their own; between the phases the kernel
// is asked what the scheduler has used.
#include "tools/bench/roster.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "common/network.h"
#include "tools/bench/child.h"
#include "tools/bench/now.h"
#include "tools/bench/processes.h"
#include "tools/bench/roster_crowd.h"
#include "tools/bench/run_command.h"
#include "tools/bench/statistics.h"

namespace stretto::bench {
namespace {

constexpr std::uint32_t kCrowd = 100;  // Workers of one process.
constexpr std::uint32_t kTensors = 20;
constexpr Duration kPhasePatience = 180s;
constexpr Duration kDispersal = 10s;  // The longest that the scheduler takes to end.

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe(int flags) {
  int ends[2];
  if (::pipe2(ends, flags) != 0) {
    return Status(Code::kResource, fmt::format("no pipe: {}", ::strerror(errno)));
  }
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

Status failed(std::string cause) { return {Code::kNetwork, std::move(cause)}; }

bool is_readable(const Descriptor& descriptor, Time deadline) {
  pollfd look{descriptor.get(), POLLIN, 0};
  return ::poll(&look, 1, milliseconds_to(deadline)) > 0;
}

/// The scheduler's process, and what it has used.
class Watched {
 public:
  static Result<Watched> start(std::uint32_t workers) {
    Result<Pipe> ready = make_pipe(0);
    if (!ready.ok()) return ready.status();
    const Result<std::string> program = program_path("stretto-scheduler");
    if (!program.ok()) return program.status();
    const std::vector<std::string> words = {*program,
                                            fmt::format("--workers={}", workers),
                                            "--servers=1",
                                            "--shards=1",
                                            "--address=127.0.0.1:0",
                                            fmt::format("--ready_fd={}", ready->write.get())};
    Result<Child> child = Child::start(SIGTERM, [&words] { return become(words); });
    if (!child.ok()) return child.status();
    ready->write.close();
    Watched watched(*std::move(child), std::move(ready->read));
    char letter = 0;
    while (is_readable(watched.ready_, now() + 10s) &&
           ::read(watched.ready_.get(), &letter, 1) == 1 && letter != '\n') {
      watched.address_ += letter;
    }
    if (letter != '\n') return failed("the scheduler did not say where it listens");
    return watched;
  }

  const std::string& address() const { return address_; }
  /// CPU seconds since the last call.
  Result<double> cpu_s() {
    Result<double> now_s = cpu_seconds_of(child_.process_id());
    if (!now_s.ok()) return now_s;
    return *now_s - std::exchange(cpu_s_, *now_s);
  }
  /// Waits for its end, or ends it; then the same, and the most memory that it had in RAM.
  Result<double> end(double* peak_rss_mb) {
    if (!child_.wait(now() + kDispersal)) child_.send_signal(SIGTERM);
    if (!child_.wait(now() + kDispersal)) return failed("the scheduler did not end");
    const rusage& used = child_.used();
    *peak_rss_mb = static_cast<double>(used.ru_maxrss) * 1024 / 1e6;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime) - cpu_s_;
  }

 private:
  Watched(Child child, Descriptor ready) : child_(std::move(child)), ready_(std::move(ready)) {}

  Child child_;
  Descriptor ready_;
  std::string address_;
  double cpu_s_ = 0;
};

/// What the workers told of one phase.
struct PhaseNews {
  std::uint64_t bytes = 0;  // That had come to them in all.
  std::uint64_t failed = 0;
  std::vector<double> seconds;  // Of those that did not fail, sorted.
};

Result<PhaseNews> await(const Descriptor& news, CrowdNews::Phase phase, std::uint32_t workers) {
  const Time deadline = now() + kPhasePatience;
  PhaseNews found;
  while (found.seconds.size() + found.failed < workers) {
    CrowdNews one;
    if (!is_readable(news, deadline) || ::read(news.get(), &one, sizeof one) != sizeof one) {
      return failed(fmt::format("{} of {} workers came through phase {} within {} s",
                                found.seconds.size(), workers, static_cast<int>(phase),
                                kPhasePatience / 1s));
    }
    found.bytes += one.bytes;
    if (one.phase == phase) {
      found.seconds.push_back(one.seconds);
    } else if (phase == CrowdNews::Phase::kLeft) {
      ++found.failed;
    } else {
      return failed("a worker failed before all were to leave");
    }
  }
  std::sort(found.seconds.begin(), found.seconds.end());
  return found;
}

Result<std::vector<Child>> start_crowds(const Settings& settings, const std::string& scheduler,
                                        int news, const Pipe& hold) {
  std::vector<Child> crowds;
  for (std::uint32_t first = 0; first < settings.workers; first += kCrowd) {
    const CrowdTask task{.scheduler = scheduler,
                         .workers = settings.workers,
                         .first_rank = first,
                         .count = std::min(kCrowd, settings.workers - first),
                         .with_server = first == 0,
                         .tensors = kTensors,
                         .training = std::chrono::duration_cast<Duration>(
                             std::chrono::duration<double>(settings.seconds)),
                         .news = news,
                         .until = hold.read.get()};
    Result<Child> crowd = Child::start(SIGKILL, [task, ours = hold.write.get()] {
      ::close(ours);  // Else it would never end.
      return run_crowd(task);
    });
    if (!crowd.ok()) return crowd.status();
    crowds.push_back(*std::move(crowd));
  }
  return crowds;
}

Status measure(const Settings& settings, Watched& scheduler, const Pipe& news, Descriptor hold,
               Output& output) {
  Record record;
  record.text("name", "roster").count("workers", settings.workers);
  std::uint64_t bytes = 0;
  double peak_rss_mb = 0;
  const auto note = [&](std::string_view phase, CrowdNews::Phase end) -> Result<PhaseNews> {
    Result<PhaseNews> told = await(news.read, end, settings.workers);
    if (!told.ok()) return told;
    const bool last = end == CrowdNews::Phase::kLeft;
    const Result<double> cpu_s = last ? scheduler.end(&peak_rss_mb) : scheduler.cpu_s();
    if (!cpu_s.ok()) return cpu_s.status();
    record.real(fmt::format("{}_cpu_s", phase), *cpu_s);
    record.real(fmt::format("{}_mb", phase),
                static_cast<double>(told->bytes - std::exchange(bytes, told->bytes)) / 1e6);
    return told;
  };
  Result<PhaseNews> told = note("join", CrowdNews::Phase::kJoined);
  if (told.ok()) told = note("train", CrowdNews::Phase::kTrained);
  if (!told.ok()) return told.status();
  hold.close();
  told = note("leave", CrowdNews::Phase::kLeft);
  if (!told.ok()) return told.status();
  record.count("leaves_failed", told->failed)
      .real("leave_p50_s", quantile(told->seconds, 0.5))
      .real("leave_max_s", told->seconds.empty() ? 0 : told->seconds.back())
      .real("peak_rss_mb", peak_rss_mb);
  output.row(record);
  return {};
}

}  // namespace

Status run_roster(const Settings& settings, Output& output) {
  constexpr std::uint64_t kDescriptorsOfWorker = 16;
  if (Status status = raise_file_limit(kCrowd * kDescriptorsOfWorker + 64); !status.ok()) {
    return status;
  }
  Result<Pipe> news = make_pipe(O_CLOEXEC);
  if (!news.ok()) return news.status();
  Result<Pipe> hold = make_pipe(O_CLOEXEC);
  if (!hold.ok()) return hold.status();
  Result<Watched> scheduler = Watched::start(settings.workers);
  if (!scheduler.ok()) return scheduler.status();
  Result<std::vector<Child>> crowds =
      start_crowds(settings, scheduler->address(), news->write.get(), *hold);
  if (!crowds.ok()) return crowds.status();
  output.title(
      fmt::format("roster: {} workers join, train for {} s and leave together; what the "
                  "scheduler uses and sends",
                  settings.workers, settings.seconds));
  output.columns({"workers", "join_cpu_s", "join_mb", "train_cpu_s", "train_mb", "leave_cpu_s",
                  "leave_mb", "leaves_failed", "leave_p50_s", "leave_max_s", "peak_rss_mb"});
  return measure(settings, *scheduler, *news, std::move(hold->write), output);
}

}  // namespace stretto::bench
