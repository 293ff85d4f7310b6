// SPDX-License-Identifier: Apache-2.0
// One handler, for one signal: it records the notice, and starts a timer that sends the next one. A
// second SIGTERM ends the process, but not within the first second: a batch system and the launcher
// may both send the notice.
#include "worker/elastic/notice_watch.h"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <string_view>

namespace stretto {
namespace {

using Nanoseconds = std::chrono::nanoseconds;

constexpr std::chrono::seconds kSameNotice{1};

struct NoticeState {
  std::atomic<pid_t> process{0};  // The watching one; 0: none.
  std::atomic<bool> told{false};
  std::atomic<Nanoseconds> told_at{};
  Nanoseconds same{};  // Within this time another one is the same.
  std::atomic<bool> has_timer{false};
  timer_t timer{};
  itimerspec patience{};
  std::array<char, 160> last_words{};
  std::size_t last_words_size = 0;
};

constinit NoticeState notice;

// The handler's clock.
Nanoseconds monotonic_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

void say_in_handler(std::string_view words) {
  (void)!::write(STDERR_FILENO, words.data(), words.size());
}

void end_by_default() {
  ::signal(SIGTERM, SIG_DFL);
  ::raise(SIGTERM);  // Takes effect when the handler returns.
}

// Calls only async-signal-safe functions.
void on_notice(int, siginfo_t* about, void*) {
  const int before = errno;
  const Nanoseconds now = monotonic_now();
  if (notice.process != ::getpid()) {
    end_by_default();  // In a child that was forked just before.
  } else if (notice.told) {
    const bool is_late = about->si_code == SI_TIMER;
    if (is_late) say_in_handler({notice.last_words.data(), notice.last_words_size});
    if (is_late || now - notice.told_at.load() >= notice.same) end_by_default();
  } else {
    notice.told_at = now;
    notice.told = true;
    if (notice.has_timer) ::timer_settime(notice.timer, 0, &notice.patience, nullptr);
    say_in_handler(
        "stretto: this worker was told to end (SIGTERM), and leaves as this step ends\n");
  }
  errno = before;
}

bool is_handled_here() {
  struct sigaction now{};
  return ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_sigaction == on_notice;
}

bool has_default() {
  struct sigaction now{};
  return ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
}

void install() {
  struct sigaction ours{};
  ours.sa_sigaction = on_notice;
  ours.sa_flags = SA_RESTART | SA_SIGINFO;
  ::sigaction(SIGTERM, &ours, nullptr);
}

// A forked child is no member of the job, and has no timer.
void forget_in_child() {
  if (is_handled_here()) ::signal(SIGTERM, SIG_DFL);
  notice.process = 0;
  notice.told = false;
  notice.has_timer = false;
}

void prepare(std::chrono::milliseconds patience) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  notice.told = false;
  notice.same = std::min<Nanoseconds>(kSameNotice, patience / 2);
  notice.patience.it_value = {.tv_sec = seconds.count(),
                              .tv_nsec = Nanoseconds(patience - seconds).count()};
  const auto written = fmt::format_to_n(
      notice.last_words.data(), notice.last_words.size(),
      "stretto: this worker has come to no end of a step within {:g} s of SIGTERM, and ends now\n",
      std::chrono::duration<double>(patience).count());
  notice.last_words_size = std::min(written.size, notice.last_words.size());
  sigevent ending{};
  ending.sigev_notify = SIGEV_SIGNAL;
  ending.sigev_signo = SIGTERM;
  notice.has_timer = ::timer_create(CLOCK_MONOTONIC, &ending, &notice.timer) == 0;
}

}  // namespace

NoticeWatch::NoticeWatch(std::chrono::milliseconds patience) {
  static const bool kForgets = ::pthread_atfork(nullptr, nullptr, forget_in_child) == 0;
  if (!kForgets || notice.process != 0 || !has_default()) return;
  watches_ = true;
  prepare(patience);
  notice.process = ::getpid();
  install();
}

NoticeWatch::~NoticeWatch() {
  if (!watches_ || notice.process != ::getpid()) return;
  if (is_handled_here()) ::signal(SIGTERM, SIG_DFL);
  if (notice.has_timer.exchange(false)) ::timer_delete(notice.timer);
  notice.process = 0;
}

void NoticeWatch::reinstall() {
  if (watches_ && notice.process == ::getpid() && !notice.told && has_default()) install();
}

std::optional<Nanoseconds> NoticeWatch::told_ago() const {
  if (!watches_ || notice.process != ::getpid() || !notice.told) return std::nullopt;
  return monotonic_now() - notice.told_at.load();
}

}  // namespace stretto
