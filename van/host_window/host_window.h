// SPDX-License-Identifier: Apache-2.0
// HostWindow: this endpoint's seat in the host's registry. It publishes what the endpoint has to
// send, reads what others have, and computes the endpoint's share. No daemon, no lock; system calls
// only to join and leave.
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

  /// Data will leave this host. Without a free seat, that is logged once and the share is as
  /// without other endpoints.
  void join(Time now);
  bool joined() const { return file_.has_value(); }

  /// True if the last look() was some time ago.
  bool is_due(Time now) const { return joined() && now - looked_at_ >= kLookEvery; }
  /// The share that other endpoints leave to `mine`.
  WindowShare look(const HostEntry& mine, Time now);

  /// True if tell() is due: the last one was some time ago, or the queue has changed from `busy` to
  /// idle or back.
  bool must_tell(bool busy, Time now) {
    if (!joined()) return false;
    return std::exchange(busy_, busy) != busy || now - told_at_ >= kLookEvery;
  }
  /// True if the last entry has data waiting or in flight.
  bool has_told() const { return told_.waiting || told_.here_bytes > 0; }
  /// Publishes the entry, and computes its recent rate from what its peers have taken.
  void tell(HostEntry mine, Time now);

 private:
  static constexpr Duration kLookEvery = std::chrono::microseconds(200);

  void take_seat(Time now);
  double recent_rate(bool waiting, std::uint64_t taken_bytes, Time now);

  const HostOptions options_;
  std::optional<HostRegistryFile> file_;
  std::optional<std::size_t> seat_;
  ProcessMark mark_;
  bool unusable_ = false;  // Has been logged.
  bool full_ = false;      // Has been logged.
  Time next_try_ = {};     // To take a seat.
  Time looked_at_ = {};
  Time told_at_ = {};
  std::array<HostEntry, kSeats> others_;  // Of the last look(); allocated once.
  HostEntry told_;
  bool busy_ = false;
  HostRate rate_;
  // The interval of the recent rate.
  Time interval_since_ = {};
  std::uint64_t interval_bytes_ = 0;
  bool interval_busy_ = false;
  double recent_rate_ = 0;
};

}  // namespace stretto::host
