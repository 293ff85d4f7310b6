// SPDX-License-Identifier: Apache-2.0
// An allowance for each receiver, and questions before it is used up.
#include "worker/operations/calls_ahead.h"

#include <algorithm>
#include <limits>

namespace stretto {
namespace {

constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();

}  // namespace

bool CallsAhead::fits(std::uint64_t call, std::size_t bytes) const {
  return call <= begun_ || ahead_bytes_ + bytes <= allowance_;
}

void CallsAhead::count(std::uint64_t call, std::size_t bytes) {
  if (call <= begun_) return;
  ahead_[call] += bytes;
  ahead_bytes_ += bytes;
}

bool CallsAhead::admit(Held what, std::size_t bytes) {
  const std::size_t cost = bytes + kFrameBytes;
  const bool goes = fits(what.call, cost) && (held_.empty() || what.call <= begun_);
  if (goes) {
    count(what.call, cost);
  } else {
    held_.emplace(what, cost);
  }
  return goes;
}

void CallsAhead::note_begun(std::uint64_t call) {
  if (call <= begun_) return;
  begun_ = call;
  while (!ahead_.empty() && ahead_.begin()->first <= begun_) {
    ahead_bytes_ -= ahead_.begin()->second;
    ahead_.erase(ahead_.begin());
  }
}

std::optional<CallsAhead::Held> CallsAhead::release() {
  if (held_.empty()) return std::nullopt;
  const auto [what, cost] = *held_.begin();
  if (!fits(what.call, cost)) return std::nullopt;
  count(what.call, cost);
  held_.erase(held_.begin());
  return what;
}

// When this call begins, at least half of what was sent ahead is in use.
std::uint64_t CallsAhead::half_call() const {
  std::size_t bytes_before = 0;
  for (const auto& [call, bytes] : ahead_) {
    bytes_before += bytes;
    if (2 * bytes_before >= ahead_bytes_) return call;
  }
  return kNone;
}

std::optional<std::uint64_t> CallsAhead::question() {
  if (held_.empty() && ahead_bytes_ <= allowance_ / 2) return std::nullopt;
  // A receiver that waits for a part that is held here begins no later call.
  const std::uint64_t first_held = held_.empty() ? kNone : held_.begin()->first.call;
  if (asked_ > begun_ && first_held >= asked_) return std::nullopt;
  asked_ = std::min(first_held, half_call());
  return asked_;
}

void CallsAhead::clear() {
  ahead_.clear();
  ahead_bytes_ = 0;
  held_.clear();
}

}  // namespace stretto
