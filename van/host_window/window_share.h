// SPDX-License-Identifier: Apache-2.0
// WindowShare: this endpoint's fraction of the send window that all endpoints of one user have on
// one network interface. The common window makes priorities hold across processes.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "common/config/config.h"
#include "van/host_window/host_entry.h"

namespace stretto::host {

/// The default is the share without other senders. Thread: any (a value).
struct WindowShare {
  /// Fraction of the host's window, above 0 and at most 1; more if others use less than their
  /// shares.
  double part = 1;
  PathEstimate others;                  ///< Sum of all others: part of the host's window as well.
  std::uint64_t others_here_bytes = 0;  ///< Of endpoints that this endpoint leaves room for.
  /// Data below this priority yields to another process of the job, and gets `rest_rate` bytes a
  /// second; 0: unknown.
  std::optional<std::int32_t> above;
  double rest_rate = 0;
  /// Another process of the job expects urgent data: bulk yields. Not set for bulk that is only
  /// more urgent than other bulk.
  bool urgent = false;

  /// The part of the window of all endpoints.
  std::uint64_t of(std::uint64_t window_bytes) const;
};

/// The share of `mine`, which has waiting data or will have. `host_rate`: recent rate of all
/// endpoints in bytes a second; 0: unknown. Pure.
WindowShare share_of(std::span<const HostEntry> others, const HostEntry& mine, HostPolicy policy,
                     double host_rate, Time now);

}  // namespace stretto::host
