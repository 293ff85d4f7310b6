// SPDX-License-Identifier: Apache-2.0
// HostRate: how fast all endpoints of a host together can send, by what their far ends have taken
// of late. What each tells of its own speed cannot be summed: they look at different times.
#pragma once

#include <array>
#include <span>

#include "common/windowed_max.h"
#include "van/host_window/host_entry.h"

namespace stretto::host {

/// Thread: loop. Pure.
class HostRate {
 public:
  /// Of `seats` that there may be.
  static constexpr std::size_t kMostSeats = 64;

  /// What all have told, each entry with its seat; those that are not alive do not count.
  void note(std::span<const HostEntry> others, std::uint64_t own_taken_bytes, Time now);
  /// The greatest of late, in bytes a second; 0: not known.
  double get() const { return rate_.get(); }

 private:
  struct Taken {
    bool alive = false;
    std::uint64_t bytes = 0;
  };

  WindowedMax rate_{std::chrono::seconds(1)};
  std::array<Taken, kMostSeats> before_;
  std::uint64_t own_before_ = 0;
  Time since_ = {};
};

}  // namespace stretto::host
