// SPDX-License-Identifier: Apache-2.0
// HostRate: rate at which all endpoints of a host together can send, from what their peers recently
// took. Reported rates of endpoints cannot be summed: they are of different times.
#pragma once

#include <array>
#include <span>

#include "common/windowed_max.h"
#include "van/host_window/host_entry.h"

namespace stretto::host {

/// Thread: loop. Pure.
class HostRate {
 public:
  /// Largest number of `seats`.
  static constexpr std::size_t kMostSeats = 64;

  /// Adds the entries of all endpoints, each with its seat; expired entries are ignored.
  void note(std::span<const HostEntry> others, std::uint64_t own_taken_bytes, Time now);
  /// The greatest recent rate, in bytes a second; 0: unknown.
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
