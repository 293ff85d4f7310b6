// SPDX-License-Identifier: Apache-2.0
// DeliveryProbe: whether what was handed to the provider arrives. A provider's own connection may
// be lost without any operation of ours failing; so where nothing moves though something should,
// the far end is asked over the line how many frames have come to it.
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

/// Of one link. Thread: loop. Pure: it is told counts and times.
class DeliveryProbe {
 public:
  /// Of the link so far.
  struct Counts {
    std::uint64_t handed = 0;   ///< Frames of ours that are with the provider or beyond,
    std::uint64_t taken = 0;    ///< and that the far end has taken.
    std::uint64_t fetched = 0;  ///< Payloads of theirs that have been fetched.
    std::size_t fetching = 0;   ///< Payloads of theirs that are being fetched.
    friend bool operator==(const Counts&, const Counts&) = default;
  };

  /// Looked regularly. True if the far end should be asked: nothing has moved since the last look
  /// though something is owed, and it has answered what it was asked before.
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

  /// The far end says how many frames have come to it.
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

  /// The far end answers, and for so long frames have been missing there and nothing has moved.
  bool lost_for(Duration limit, Time now) const { return behind_ && now - behind_since_ >= limit; }

 private:
  Counts counts_;
  std::uint64_t came_ = 0;  // That the far end has told.
  bool asked_ = false;      // It owes an answer,
  Time asked_at_;
  std::uint64_t handed_then_ = 0;  // and these had been submitted before.
  bool behind_ = false;
  Time behind_since_;
};

}  // namespace stretto::fabric
