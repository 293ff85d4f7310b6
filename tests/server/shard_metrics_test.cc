// SPDX-License-Identifier: Apache-2.0
// What a shard shows of itself.
#include "server/monitoring/shard_metrics.h"

#include <algorithm>

#include "tests/server/shard_fixture.h"

namespace stretto::fake {
namespace {

TEST_F(ShardTest, ItsMetricsTellOfPartsAndContributions) {
  metrics::MetricsSnapshots board;
  start();
  shard_->set_board(&board);
  say_scheduler(roster_);
  join(first_, 0);
  join(second_, 1);
  open();
  push(first_, 1, {1, 2});
  pass(2s);
  const metrics::Metrics all = board.all();
  const auto value_of = [&all](const std::string& name) {
    const auto found = std::ranges::find(all, name, &metrics::Metric::name);
    return found == all.end() ? -1.0 : found->value;
  };
  EXPECT_EQ(value_of("stretto_shares_total"), 1);
  EXPECT_EQ(value_of("stretto_parts"), 1);
  EXPECT_GE(value_of("stretto_parts_bytes"), 8);
  EXPECT_EQ(value_of("stretto_rounds_held_seconds_total"), 0) << "the round is open";
}

}  // namespace
}  // namespace stretto::fake
