// SPDX-License-Identifier: Apache-2.0
// HostWindow: this endpoint's seat among those of its host. It says there what the endpoint has to
// send, sees what others have, and tells the share. No daemon, no lock, and no system call but to
// come and to go.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "van/host_window/host_options.h"
#include "van/host_window/host_registry_file.h"
#include "van/host_window/window_share.h"

namespace stretto::host {

/// Thread: loop.
class HostWindow {
 public:
  explicit HostWindow(HostOptions options) : options_(std::move(options)) {}
  HostWindow(const HostWindow&) = delete;
  HostWindow& operator=(const HostWindow&) = delete;
  ~HostWindow();

  /// Data will leave this host. If there can be no seat, that is logged once, and shares are as
  /// without others.
  void join(Time now);
  bool joined() const { return file_.has_value(); }

  /// True if others have not been looked at for a while.
  bool is_due(Time now) const { return joined() && now - looked_at_ >= kLookEvery; }
  /// What others leave to who says `mine`.
  WindowShare look(const HostEntry& mine, Time now);

  /// True if others ought to be told: it is a while ago, or the queue that was `busy` is so no
  /// more, or the other way round.
  bool must_tell(bool busy, Time now) {
    if (!joined()) return false;
    return std::exchange(busy_, busy) != busy || now - told_at_ >= kLookEvery;
  }
  /// True if what was told last says that there is something to send, or in flight.
  bool has_told() const { return told_.waiting || told_.here_bytes > 0; }
  /// Its recent rate is made of what its far ends have taken.
  void tell(HostEntry mine, Time now);

 private:
  static constexpr Duration kLookEvery = std::chrono::microseconds(200);

  void take_seat(Time now);
  double recent_rate(bool waiting, std::uint64_t taken_bytes, Time now);

  const HostOptions options_;
  std::optional<HostRegistryFile> file_;
  std::optional<std::size_t> seat_;
  ProcessMark mark_;
  bool unusable_ = false;  // That has been logged.
  bool full_ = false;      // And that.
  Time next_try_ = {};     // For a seat.
  Time looked_at_ = {};
  Time told_at_ = {};
  std::array<HostEntry, kSeats> others_;  // Of the last look: made once.
  HostEntry told_;
  bool busy_ = false;
  HostRate rate_;
  // The interval over which the recent rate is seen.
  Time interval_since_ = {};
  std::uint64_t interval_bytes_ = 0;
  bool interval_busy_ = false;
  double recent_rate_ = 0;
};

}  // namespace stretto::host
