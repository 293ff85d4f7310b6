// SPDX-License-Identifier: Apache-2.0
// Who is to look at what, where frames are corrupted again and again.
#include "van/session/corruption.h"

#include "common/log.h"
#include "van/session/frame_handler.h"
#include "van/session/link_lives.h"

namespace stretto {

bool Corruption::note(Time now) {
  Time& before = last_[count_ % kMost];  // As many ago as may be.
  const bool many = count_ >= kMost && now - before < kLately;
  before = now;
  ++count_;
  if (!many || now < told_until_) return false;
  told_until_ = now + kLately;
  return true;
}

void note_corrupted(LinkState& link, const LinkLives& links, FrameCounters& counters, Time now) {
  ++counters.corrupted;
  if (!link.corruption.note(now)) return;
  log(Level::kError,
      "more than {} frames of the link to {}{}{} came corrupted within a minute; none was "
      "used, and each is sent again, but the cables, network cards and memory between the two "
      "should be looked at",
      Corruption::kMost, links.name_of(link.session.peer()), link.address.empty() ? "" : " at ",
      link.address);
}

}  // namespace stretto
