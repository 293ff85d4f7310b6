// SPDX-License-Identifier: Apache-2.0
// Detects several corrupted frames within a minute.
#include "van/session/corruption_rate.h"

namespace stretto {

bool CorruptionRate::note(Time now) {
  Time& before = last_[count_ % kMost];  // The oldest of the last kMost.
  const bool many = count_ >= kMost && now - before < kLately;
  before = now;
  ++count_;
  if (!many || now < told_until_) return false;
  told_until_ = now + kLately;
  return true;
}

}  // namespace stretto
