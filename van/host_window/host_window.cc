// SPDX-License-Identifier: Apache-2.0
// Takes a seat, writes it, reads the others, and releases it.
#include "van/host_window/host_window.h"

#include <utility>

#include "common/clock.h"
#include "common/log.h"

namespace stretto::host {
namespace {

constexpr Duration kRetry = std::chrono::seconds(10);
constexpr Duration kInterval = std::chrono::milliseconds(10);
constexpr int kFiles = 3;  // Each may be removed while it is opened.

}  // namespace

HostWindow::~HostWindow() {
  if (!seat_) return;
  HostRegistry seats = file_->seats();
  seats.give_up(*seat_, mark_);
  file_->remove_if_empty(mark_, life_of, told_at_);
}

void HostWindow::join(Time now) {
  if (options_.policy == HostPolicy::kNone || unusable_ || joined()) return;
  mark_ = own_mark();
  take_seat(now);
}

void HostWindow::take_seat(Time now) {
  next_try_ = now + kRetry;
  for (int i = 0; i < kFiles; ++i) {
    if (!file_) {
      Result<HostRegistryFile> file = HostRegistryFile::open(options_.path);
      if (!file.ok()) {
        unusable_ = true;
        log(Level::kWarning, "no window is shared with other processes of this host: {}",
            file.status().cause());
        return;
      }
      file_.emplace(*std::move(file));
    }
    seat_ = file_->seats().take(mark_, life_of, now);
    if (seat_) {
      if (file_->is_new()) remove_abandoned(options_.path, mark_, life_of, now);
      return;
    }
    if (file_->is_current()) break;
    file_.reset();
  }
  if (!std::exchange(full_, true)) {
    log(Level::kWarning,
        "no window is shared with other processes of this host yet: all {} seats of {} are taken",
        kSeats, options_.path);
  }
}

WindowShare HostWindow::look(const HostEntry& mine, Time now) {
  looked_at_ = now;
  if (!seat_) return {};
  const std::size_t count = file_->seats().read_others(*seat_, others_);
  const std::span<const HostEntry> all(others_.data(), count);
  rate_.note(all, mine.taken_bytes, now);
  HostEntry self = mine;
  self.job = options_.job;
  return share_of(all, self, options_.policy, rate_.get(), now);
}

// The interval restarts when no data waits: the rate is not at its limit then.
double HostWindow::recent_rate(bool waiting, std::uint64_t taken_bytes, Time now) {
  const bool busy = interval_busy_ && waiting;
  if (busy && now - interval_since_ < kInterval) return recent_rate_;
  recent_rate_ =
      busy ? static_cast<double>(taken_bytes - interval_bytes_) / seconds(now - interval_since_)
           : 0;
  interval_since_ = now;
  interval_bytes_ = taken_bytes;
  interval_busy_ = waiting;
  return recent_rate_;
}

void HostWindow::tell(HostEntry mine, Time now) {
  told_at_ = now;
  mine.recent_rate = recent_rate(mine.waiting, mine.taken_bytes, now);
  mine.job = options_.job;
  mine.alive_at = now;
  told_ = mine;
  const bool mine_still = seat_ && file_->seats().has(*seat_, mark_);
  if (!mine_still) {
    seat_.reset();
    if (now >= next_try_) take_seat(now);
    if (!seat_) return;
  }
  file_->seats().write(*seat_, mine);
}

}  // namespace stretto::host
