// SPDX-License-Identifier: Apache-2.0
// Encoding and decoding of entries.
#include "van/host_window/host_entry.h"

#include <algorithm>
#include <bit>

namespace stretto::host {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 40;  // A terabyte, or one per second.
constexpr std::uint64_t kWaiting = 1;
constexpr std::uint64_t kUrgent = 2;

enum Word : std::size_t {
  kAliveAt,
  kJob,
  kFlags,
  kPriorities,
  kHere,
  kRate,
  kProduct,
  kWait,
  kRecentRate,
  kTaken,
  kQueue
};

std::uint64_t whole(double bytes) {
  return static_cast<std::uint64_t>(std::clamp(bytes, 0.0, static_cast<double>(kMostBytes)));
}

std::int32_t lower(std::uint64_t word) {
  return std::bit_cast<std::int32_t>(static_cast<std::uint32_t>(word));
}

}  // namespace

EntryWords HostEntry::words() const {
  EntryWords words{};
  words[kAliveAt] = static_cast<std::uint64_t>(alive_at.time_since_epoch().count());
  words[kJob] = job;
  words[kFlags] = (waiting ? kWaiting : 0) | (urgent ? kUrgent : 0);
  words[kPriorities] = std::uint64_t{std::bit_cast<std::uint32_t>(urgent_priority)} << 32 |
                       std::bit_cast<std::uint32_t>(priority);
  words[kHere] = here_bytes;
  words[kRate] = whole(paths.rate);
  words[kProduct] = paths.product_bytes;
  words[kWait] = paths.wait_bytes;
  words[kRecentRate] = whole(recent_rate);
  words[kTaken] = taken_bytes;
  words[kQueue] = paths.queue_bytes;
  return words;
}

HostEntry HostEntry::of(const EntryWords& words) {
  const auto bytes = [&words](Word word) { return std::min(words[word], kMostBytes); };
  // An invalid time counts as long past.
  const std::uint64_t alive = words[kAliveAt] >> 62 == 0 ? words[kAliveAt] : 0;
  return {.alive_at = Time(Duration(static_cast<std::int64_t>(alive))),
          .job = words[kJob],
          .waiting = (words[kFlags] & kWaiting) != 0,
          .priority = lower(words[kPriorities]),
          .urgent = (words[kFlags] & kUrgent) != 0,
          .urgent_priority = lower(words[kPriorities] >> 32),
          .here_bytes = bytes(kHere),
          .paths = {.rate = static_cast<double>(bytes(kRate)),
                    .product_bytes = bytes(kProduct),
                    .wait_bytes = bytes(kWait),
                    .queue_bytes = bytes(kQueue)},
          .taken_bytes = words[kTaken],
          .recent_rate = static_cast<double>(bytes(kRecentRate))};
}

}  // namespace stretto::host
