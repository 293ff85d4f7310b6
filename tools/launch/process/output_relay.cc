// SPDX-License-Identifier: Apache-2.0
// Splits bytes into lines, and writes lines to two queues and to log files.
#include "tools/launch/process/output_relay.h"

#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <utility>

#include "common/check.h"

namespace stretto::launch {
namespace {

bool same_file(int a, int b) {
  struct stat first{};
  struct stat second{};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

constexpr itimerspec kLooks{{1, 0}, {1, 0}};
constexpr itimerspec kNoLooks{};

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

OutputRelay::OutputRelay(Poller& poller, const std::vector<JobMember>& members,
                         std::string log_directory, OnLine on_line, Shows shows)
    : poller_(poller),
      members_(members),
      log_directory_(std::move(log_directory)),
      on_line_(std::move(on_line)),
      shows_(std::move(shows)),
      outputs_(members.size()) {
  sinks_.reserve(2);
  sinks_.emplace_back(STDOUT_FILENO);
  // One queue per file, so that the end of a line does not mix with the start of another.
  if (!same_file(STDOUT_FILENO, STDERR_FILENO)) sinks_.emplace_back(STDERR_FILENO);
  watched_.resize(sinks_.size());
  timer_ = Descriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (timer_.is_open()) poller_.watch(timer_.get(), EPOLLIN, [this] { show_progress(); });
}

OutputRelay::~OutputRelay() {
  if (timer_.is_open()) poller_.unwatch(timer_.get());
}

Status OutputRelay::prepare() {
  if (log_directory_.empty()) return {};
  std::error_code error;
  std::filesystem::create_directories(log_directory_, error);
  if (!error) return {};
  return {Code::kInvalidArgument,
          fmt::format("cannot create the log directory '{}': {}", log_directory_, error.message())};
}

void OutputRelay::open(std::size_t member) {
  STRETTO_CHECK(!has(member));
  outputs_[member] = std::make_unique<Output>();
  outputs_[member]->prefix = fmt::format("[{}] ", label_of(members_[member]));
  if (log_directory_.empty()) return;
  open_log(member);
  auto& log = outputs_[member]->log;
  struct stat file{};
  if (log != nullptr && ::fstat(::fileno(log.get()), &file) == 0 && file.st_size > 0) {
    std::fputs(fmt::format("--- process started at {} ---\n", utc_now()).c_str(), log.get());
  }
}

void OutputRelay::close_log(std::size_t member) { outputs_.at(member)->log.reset(); }

void OutputRelay::open_log(std::size_t member) {
  const std::string path = fmt::format("{}/{}-{}.log", log_directory_,
                                       name_of(members_[member].role), members_[member].rank);
  // Appends, since an earlier job, or an earlier process of this rank, may have written there.
  // Closes on exec, so that no member holds the logs of others open.
  auto& log = outputs_[member]->log;
  log.reset(std::fopen(path.c_str(), "ae"));
  if (log != nullptr) return;
  outputs_[member]->has_no_log = true;
  say(fmt::format("warning: cannot write '{}': {}", path, ::strerror(errno)));
}

void OutputRelay::take(std::size_t member, std::size_t stream, std::string_view bytes) {
  STRETTO_CHECK(has(member));
  outputs_[member]->lines.at(stream).feed(
      bytes, [&](std::string_view line) { pass_on(member, stream, line); });
  flush_log(member);
  if (!timer_runs_ && outputs_[member]->lines.at(stream).has_news()) time_looks();
}

void OutputRelay::show_progress() {
  std::uint64_t times = 0;
  if (::read(timer_.get(), &times, sizeof(times)) < 0 && errno == EAGAIN) return;
  for (const auto& output : outputs_) {
    for (std::size_t stream = 0; output && stream < 2; ++stream) {
      const std::string text = output->lines[stream].look();
      if (!text.empty() && !full(stream)) sink_of(stream).line(output->prefix, text);
    }
  }
  time_looks();
}

// The timer runs only while a line waits to be shown.
void OutputRelay::time_looks() {
  const bool wanted = std::ranges::any_of(outputs_, [](const auto& output) {
    return output && (output->lines[0].has_news() || output->lines[1].has_news());
  });
  if (wanted == timer_runs_) return;
  timer_runs_ = wanted;
  ::timerfd_settime(timer_.get(), 0, wanted ? &kLooks : &kNoLooks, nullptr);
}

void OutputRelay::finish_lines() {
  for (std::size_t member = 0; member < outputs_.size(); ++member) {
    if (!has(member)) continue;
    for (std::size_t stream = 0; stream < 2; ++stream) {
      outputs_[member]->lines[stream].finish(
          [&](std::string_view line) { pass_on(member, stream, line); });
    }
    flush_log(member);
  }
}

void OutputRelay::pass_on(std::size_t member, std::size_t stream, std::string_view line) {
  Output& output = *outputs_[member];
  if (!shows_ || shows_(member, line)) sink_of(stream).line(output.prefix, line);
  on_line_(member, line);
  if (log_directory_.empty() || output.has_no_log) return;
  if (output.log == nullptr) open_log(member);  // The process has ended; its children still write.
  if (output.log == nullptr) return;
  std::fwrite(line.data(), 1, line.size(), output.log.get());
  std::fputc('\n', output.log.get());
}

void OutputRelay::flush_log(std::size_t member) {
  auto& log = outputs_[member]->log;
  if (log == nullptr || (std::fflush(log.get()) == 0 && std::ferror(log.get()) == 0)) return;
  const char* why = ::strerror(errno);
  outputs_[member]->has_no_log = true;
  log.reset();
  say(
      fmt::format("warning: cannot write the log of {} any more: {}; make room in '{}', or name "
                  "another folder (--log-dir); its lines still come here",
                  label_of(members_[member]), why, log_directory_));
}

void OutputRelay::write() {
  for (std::size_t i = 0; i < sinks_.size(); ++i) {
    write_sink(i);
    const bool wanted = !sinks_[i].drained();
    if (wanted == watched_[i]) continue;
    if (wanted) poller_.watch(sinks_[i].descriptor(), EPOLLOUT, [] {});  // Each iteration writes.
    if (!wanted) poller_.unwatch(sinks_[i].descriptor());
    watched_[i] = wanted;
  }
}

// A failed write to stdout can still be reported on stderr.
void OutputRelay::write_sink(std::size_t index) {
  sinks_[index].write();
  const int lack = sinks_[index].take_lack();
  if (lack == 0) return;
  say(
      fmt::format("warning: lines for {} are lost, which cannot be written: {}; where it is a "
                  "file, make room there",
                  index == 0 ? "stdout" : "stderr", ::strerror(lack)));
}

void OutputRelay::discard() {
  for (OutputQueue& sink : sinks_) sink.discard();
}

void OutputRelay::flush(Signals& signals) {
  while (true) {
    std::vector<pollfd> looks{{signals.descriptor(), POLLIN, 0}};
    for (std::size_t i = 0; i < sinks_.size(); ++i) write_sink(i);
    for (OutputQueue& sink : sinks_) {
      if (!sink.drained()) looks.push_back({sink.descriptor(), POLLOUT, 0});
    }
    if (looks.size() == 1) return;
    const Duration patience = unread_ ? Duration::zero() : kUnreadPatience;
    const int wait = signals.asked_to_end() ? static_cast<int>(patience / 1ms) : -1;
    unread_ = ::poll(looks.data(), looks.size(), wait) == 0;
    if (unread_) return discard();
    const std::optional<int> signal = signals.next();
    if (!signal || *signal == SIGCHLD) continue;
    discard();
  }
}

}  // namespace stretto::launch
