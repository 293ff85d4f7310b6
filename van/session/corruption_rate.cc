// SPDX-License-Identifier: Apache-2.0
// Several corrupted frames within a minute.
#include "van/session/corruption_rate.h"

namespace stretto {

bool CorruptionRate::note(Time now) {
  Time& before = last_[count_ % kMost];  // As many ago as may be.
  const bool many = count_ >= kMost && now - before < kLately;
  before = now;
  ++count_;
  if (!many || now < told_until_) return false;
  told_until_ = now + kLately;
  return true;
}

}  // namespace stretto
