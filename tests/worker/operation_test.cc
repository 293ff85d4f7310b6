// SPDX-License-Identifier: Apache-2.0
// An operation's memory is counted for as long as anybody may read it.
#include "worker/operations/operation.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/van/far_end.h"
#include "van/transport/waker.h"

namespace stretto {
namespace {

TEST(Operation, IsCalledAsTheUserCalledIt) {
  EXPECT_EQ(name_of(Operation::Kind::kPushPull), "push_pull");
  EXPECT_EQ(name_of(Operation::Kind::kBroadcastReceiver), "broadcast");
}

TEST(Operation, TheLastLeaseWakesALoopThatWaitsForIt) {
  fake::Wire wire;
  const std::unique_ptr<Transport> transport = fake::scripted_transport(wire);
  const auto waker = std::make_shared<Waker>(*transport);
  const auto operation = std::make_shared<Operation>();
  const std::vector<std::byte> memory(4);
  Buffer one = lease(operation, memory, waker);
  Buffer two = lease(operation, memory, waker);
  EXPECT_EQ(one.data(), memory.data()) << "not a copy";
  EXPECT_EQ(operation->leases.load(), 2U);
  one = Buffer();
  operation->awaits_leases = true;
  EXPECT_EQ(wire.wakes, 0U);
  two = Buffer();
  EXPECT_EQ(operation->leases.load(), 0U);
  EXPECT_EQ(wire.wakes, 1U);
}

TEST(Operation, InfoTakesOldestVersionAndWidestSpread) {
  Operation operation;
  operation.note({.version = 5, .spread = 1});
  operation.note({.version = 4, .spread = 3});
  EXPECT_EQ(operation.info.version, 4U);
  EXPECT_EQ(operation.info.spread, 3U);
}

}  // namespace
}  // namespace stretto
