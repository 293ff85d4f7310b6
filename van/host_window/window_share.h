// SPDX-License-Identifier: Apache-2.0
// WindowShare: this endpoint's part of the window that all endpoints of its user share which send
// through one interface of this host, so that urgency holds across processes too.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "common/config/config.h"
#include "van/host_window/host_entry.h"

namespace stretto::host {

/// Thread: any (a value). As it is here, nobody else sends.
struct WindowShare {
  /// Of the host's window, above 0 and at most 1. More, where others have less in flight than they
  /// might.
  double part = 1;
  PathEstimate others;                  ///< Of all of them: the host's window is made of these too.
  std::uint64_t others_here_bytes = 0;  ///< Of those whose bytes this endpoint leaves room for.
  /// Data of a lower priority give way to another process of the job: they get `rest_rate` bytes a
  /// second; 0: nobody knows how much that could be.
  std::optional<std::int32_t> above;
  double rest_rate = 0;
  /// Another process of the job expects something urgent: bulk yields. Not set for bulk that is
  /// only more urgent than other bulk.
  bool urgent = false;

  /// Of the window that all together may have.
  std::uint64_t of(std::uint64_t window_bytes) const;
};

/// The share of who says `mine`, where it has data that wait, or will have. `host_rate` is what all
/// together have sent of late, in bytes a second; 0: nobody knows. Pure.
WindowShare share_of(std::span<const HostEntry> others, const HostEntry& mine, HostPolicy policy,
                     double host_rate, Time now);

}  // namespace stretto::host
