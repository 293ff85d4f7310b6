// SPDX-License-Identifier: Apache-2.0
// DeliveryProbe: whether frames handed to the provider arrive. A provider can lose its connection
// without failing any operation of ours. So if nothing moves though something should, we ask the
// peer over the line how many frames have arrived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto::fabric {

inline Status frames_are_missing() {
  return {Code::kLinkBroken,
          "frames that were handed to libfabric's provider have not come to the far end, though "
          "that answers; has the provider's connection been cut?"};
}

/// The probe of one link. Thread: loop. Pure: the caller passes in counts and times.
class DeliveryProbe {
 public:
  /// Totals of the link.
  struct Counts {
    std::uint64_t handed = 0;   ///< Frames of ours that were handed to the provider,
    std::uint64_t taken = 0;    ///< and those that the peer has taken.
    std::uint64_t fetched = 0;  ///< The peer's payloads fetched.
    std::size_t fetching = 0;   ///< The peer's payloads being fetched.
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  /// Called regularly. True if the caller should ask the peer: nothing has moved since the last
  /// call though something is pending, and the last question has been answered.
  bool look(const Counts& counts, Time now) {
    const bool moved = counts != counts_;
    counts_ = counts;
    if (moved) behind_ = false;
    const bool owed = counts.fetching > 0 || counts.handed > std::max(counts.taken, came_);
    if (moved || !owed || asked_) return false;
    asked_ = true;
    handed_then_ = counts.handed;
    asked_at_ = now;
    return true;
  }

  /// The peer reports how many frames have arrived.
  void heard(std::uint64_t came, bool is_answer) {
    if (came > came_) behind_ = false;
    came_ = std::max(came_, came);
    if (!is_answer || !asked_) return;
    asked_ = false;
    if (came_ >= handed_then_) {
      behind_ = false;
    } else if (!behind_) {
      behind_ = true;
      behind_since_ = asked_at_;
    }
  }

  /// True if the peer answers, but frames have been missing there for `limit` without progress.
  bool lost_for(Duration limit, Time now) const { return behind_ && now - behind_since_ >= limit; }

 private:
  Counts counts_;
  std::uint64_t came_ = 0;  // As the peer reported.
  bool asked_ = false;      // The peer owes an answer,
  Time asked_at_;
  std::uint64_t handed_then_ = 0;  // and this many frames had been handed over before.
  bool behind_ = false;
  Time behind_since_;
};

}  // namespace stretto::fabric
