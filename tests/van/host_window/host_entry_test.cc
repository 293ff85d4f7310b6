// SPDX-License-Identifier: Apache-2.0
// Entries as words.
#include "van/host_window/host_entry.h"

#include <gtest/gtest.h>

#include <limits>

namespace stretto::host {
namespace {

TEST(HostEntry, NothingIsNothing) {
  const HostEntry entry = HostEntry::of({});
  EXPECT_FALSE(entry.waiting);
  EXPECT_FALSE(entry.urgent);
  EXPECT_FALSE(entry.is_alive(Time(std::chrono::hours(1))));
}

TEST(HostEntry, CapsAbsurdValues) {
  EntryWords words;
  words.fill(std::numeric_limits<std::uint64_t>::max());
  const HostEntry entry = HostEntry::of(words);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  EXPECT_EQ(entry.here_bytes, kMost);
  EXPECT_EQ(entry.paths.rate, static_cast<double>(kMost));
  EXPECT_EQ(entry.paths.product_bytes, kMost);
  EXPECT_EQ(entry.recent_rate, static_cast<double>(kMost));
  EXPECT_EQ(entry.priority, -1);
  EXPECT_FALSE(entry.is_alive(Time(std::chrono::hours(1))));
}

TEST(HostEntry, IsNotAliveInTheFuture) {
  const Time now{std::chrono::hours(1)};
  HostEntry entry{.alive_at = now + kAliveFor};
  EXPECT_FALSE(entry.is_alive(now));
  entry.alive_at = now;
  EXPECT_TRUE(entry.is_alive(now));
}

}  // namespace
}  // namespace stretto::host
