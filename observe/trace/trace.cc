// SPDX-License-Identifier: Apache-2.0
// Names of trace kinds, and the reading end of a ring.
#include "observe/trace/trace.h"

#include <algorithm>
#include <bit>

namespace stretto {
namespace {

constexpr std::array<std::string_view, kTraceKinds> kKindNames = {
    "compute", "queue_wait", "send",    "receive", "sum",      "update", "pull_wait", "stage",
    "codec",   "input",      "preempt", "resume",  "exchange", "stall",  "traced"};

}  // namespace

std::string_view name_of(TraceKind kind) {
  const auto number = static_cast<std::size_t>(kind);
  return number >= 1 && number <= kKindNames.size() ? kKindNames[number - 1] : std::string_view();
}

TraceKind trace_kind_from(std::string_view name) {
  const auto found = std::find(kKindNames.begin(), kKindNames.end(), name);
  return static_cast<TraceKind>(found == kKindNames.end() ? 0 : found - kKindNames.begin() + 1);
}

TraceRing::TraceRing(std::size_t notes)
    : mask_(std::bit_ceil(std::clamp<std::size_t>(notes, 2, kMostNotes)) - 1),
      memory_(std::make_unique_for_overwrite<std::byte[]>(room() * sizeof(TraceNote))) {}

std::span<const TraceNote> TraceRing::look() const {
  const std::uint64_t at = taken_.load(std::memory_order_relaxed);
  const std::uint64_t there = put_.load(std::memory_order_acquire) - at;
  const std::uint64_t to_the_end = room() - (at & mask_);
  // put() has created notes in these bytes.
  return {reinterpret_cast<const TraceNote*>(place(at)),
          static_cast<std::size_t>(std::min(there, to_the_end))};
}

void Tracer::start(std::size_t notes) {
  if (ring_ == nullptr) ring_ = std::make_unique<TraceRing>(notes);
  shares_left_ = 0;
  if (!on()) seen_ = Time();  // Time without tracing is no stall.
  on_.store(true, std::memory_order_relaxed);
}

void Tracer::note_stall(Time now) {
  TraceRecord record;
  record.kind = TraceKind::kStall;
  record.begin_ns = trace_time(seen_);
  record.end_ns = trace_time(now);
  note(record);
}

}  // namespace stretto
