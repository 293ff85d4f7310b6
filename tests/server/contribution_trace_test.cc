// SPDX-License-Identifier: Apache-2.0
// What a trace says of shares.
#include "server/monitoring/contribution_trace.h"

#include <gtest/gtest.h>

#include "van/wire/frame_views.h"

namespace stretto {
namespace {

TEST(ShareRecord, DescribesContributionAndItsOutcome) {
  using namespace std::chrono_literals;
  wire::Header header = wire::PushFrame{.key = {3, 2}, .round = 7, .priority = -4}.header();
  header.sender = 11;
  const TraceRecord sum = record_of_share(header, 64, false, Time{} + 5ns, Time{} + 9ns);
  EXPECT_EQ(sum.kind, TraceKind::kSum);
  EXPECT_EQ(sum.end_ns - sum.begin_ns, 4);
  EXPECT_EQ(sum.round, 7U);
  EXPECT_EQ(sum.tensor, 3U);
  EXPECT_EQ(sum.part, 2U);
  EXPECT_EQ(sum.bytes, 64U);
  EXPECT_EQ(sum.peer, 11U);
  EXPECT_EQ(sum.priority, -4);
  EXPECT_EQ(record_of_share(header, 64, true, Time{}, Time{}).kind, TraceKind::kUpdate);
}

}  // namespace
}  // namespace stretto
