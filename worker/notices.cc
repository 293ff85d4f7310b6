// SPDX-License-Identifier: Apache-2.0
// One handler, for one signal: it notes the notice, and winds a timer that sends the next one.
// After the first SIGTERM its default is in place again, but for a second: a batch system and the
// launcher may both say the same.
#include "stretto/notices.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <string_view>

#include "common/log.h"
#include "stretto/steps.h"

namespace stretto {
namespace {

constexpr std::chrono::seconds kSameNotice{1};

struct NoticeState {
  std::atomic<bool> told{false};
  std::chrono::nanoseconds told_at{};  // Of the handler.
  std::chrono::nanoseconds same{};     // So long another one is the same.
  bool has_timer = false;
  timer_t timer{};
  itimerspec patience{};
};

constinit NoticeState notice;

// What may be called amid anything else.
void on_notice(int) {
  const int before = errno;
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  const auto now = std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  if (notice.told) {
    if (now - notice.told_at >= notice.same) {
      ::signal(SIGTERM, SIG_DFL);
      ::raise(SIGTERM);  // As this returns.
    }
    errno = before;
    return;
  }
  notice.told_at = now;
  notice.told = true;
  if (notice.has_timer) ::timer_settime(notice.timer, 0, &notice.patience, nullptr);
  constexpr std::string_view kWords =
      "stretto: this worker was told to end (SIGTERM), and leaves as this step ends\n";
  (void)!::write(STDERR_FILENO, kWords.data(), kWords.size());
  errno = before;
}

}  // namespace

Notices::Notices(Worker& worker, std::chrono::milliseconds patience) : worker_(&worker) {
  struct sigaction now {};
  const bool is_free = ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == SIG_DFL;
  if (!ProgramSteps(worker).elastic() || !is_free) return;
  watches_ = true;
  notice.told = false;
  sigevent ending{};
  ending.sigev_notify = SIGEV_SIGNAL;
  ending.sigev_signo = SIGTERM;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(patience);
  notice.same = std::min<std::chrono::nanoseconds>(kSameNotice, patience / 2);
  notice.patience.it_value = {.tv_sec = seconds.count(),
                              .tv_nsec = std::chrono::nanoseconds(patience - seconds).count()};
  notice.has_timer = ::timer_create(CLOCK_MONOTONIC, &ending, &notice.timer) == 0;
  struct sigaction ours {};
  ours.sa_handler = on_notice;
  ours.sa_flags = SA_RESTART;
  ::sigaction(SIGTERM, &ours, nullptr);
}

Notices::~Notices() {
  if (!watches_) return;
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  ::sigaction(SIGTERM, &none, nullptr);
  if (notice.has_timer) ::timer_delete(notice.timer);
  notice.has_timer = false;
}

bool Notices::told() const { return watches_ && notice.told; }

Result<bool> Notices::leave_if_told() {
  if (!told()) return false;
  if (Status left = worker_->leave(); !left.ok()) return left;
  log(Level::kInfo, "this worker has left the job, as it was told");
  return true;
}

}  // namespace stretto
