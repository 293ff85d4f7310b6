// SPDX-License-Identifier: Apache-2.0
// Which peers have pending doorbells, and when these are rung.
#include "van/shm/doorbells.h"

#include <algorithm>

namespace stretto::shm {

void Doorbells::owe(const std::shared_ptr<Line>& line, wire::Kind kind, std::size_t bytes) {
  const bool calls = kind == wire::Kind::kCall || kind == wire::Kind::kAnswer;
  if (!put_off_ || calls) return line->ring_if(Line::kFrames);
  if (std::ranges::find(owed_, line) == owed_.end()) owed_.push_back(line);
  bytes_ += bytes;
  if (bytes_ >= kMostBytes) ring();
}

void Doorbells::ring() {
  for (const std::shared_ptr<Line>& line : owed_) line->ring_if(Line::kFrames);
  owed_.clear();
  bytes_ = 0;
}

}  // namespace stretto::shm
