// SPDX-License-Identifier: Apache-2.0
// The contract of has_come(), for a thread that spins before it waits: it detects every event that
// ends a poll, without a poll, and a later poll still reports the event.
#include <gtest/gtest.h>

#include "tests/conformance/conformance.h"

namespace stretto::conformance {
namespace {

std::vector<Kind> foretelling_kinds() {
  std::vector<Kind> foretelling = kinds();
  std::erase_if(foretelling, [](const Kind& kind) {
    return !kind.make()->endpoint()->has_come(Transport::Asked::kMemory).has_value();
  });
  return foretelling;
}

class ForetoldConformance : public Conformance {
 protected:
  ForetoldConformance() {
    accepted_link();
    EXPECT_TRUE(until({&worker_, &server_}, [&] { return !come(worker_) && !come(server_); }));
  }
  static bool come(End& end) {
    const auto knows = [&end](Transport::Asked asked) {
      return end.transport().has_come(asked).value_or(false);
    };
    return knows(Transport::Asked::kMemory) || knows(Transport::Asked::kSystem);
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, ForetoldConformance, testing::ValuesIn(foretelling_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(ForetoldConformance, AFrameThatWasFlushedIs) {
  ASSERT_EQ(worker_.send(link_, 1), Sent::kTaken);
  worker_.transport().flush();
  ASSERT_TRUE(until({}, [&] { return come(server_); }));
  EXPECT_TRUE(come(server_));
  EXPECT_EQ(server_.frames, 0U);
  server_.poll();
  EXPECT_EQ(server_.frames, 1U);
  EXPECT_TRUE(until({&server_}, [&] { return !come(server_); }));
}

TEST_P(ForetoldConformance, DetectsFrameAfterWaitingPoll) {
  server_.poll(1ms);  // This poll has asked the peers to ring the doorbell.
  ASSERT_EQ(worker_.send(link_, 1), Sent::kTaken);
  worker_.transport().flush();
  ASSERT_TRUE(until({}, [&] { return come(server_); }));
  server_.poll();
  EXPECT_EQ(server_.frames, 1U);
}

TEST_P(ForetoldConformance, AWakeIsOnce) {
  server_.transport().wake();
  EXPECT_TRUE(come(server_));
  server_.poll(std::chrono::hours(1));
  EXPECT_FALSE(come(server_));
}

TEST_P(ForetoldConformance, TheEndOfALinkIs) {
  worker_.close(link_);
  ASSERT_TRUE(until({&worker_}, [&] { return come(server_); }));
  EXPECT_TRUE(server_.broken.empty());
  EXPECT_TRUE(until({}, [&] {
    if (come(server_)) server_.poll();
    return server_.broken.size() == 1;
  }));
}

TEST_P(ForetoldConformance, TheDeathOfTheFarEndIs) {
  worker_.destroy();
  EXPECT_TRUE(until({}, [&] {
    if (come(server_)) server_.poll();
    return server_.broken.size() == 1;
  }));
}

TEST_P(ForetoldConformance, RoomIsWhereThereWasNone) {
  Lender lender(pattern(256 * 1024, 9));
  for (std::uint64_t i = 1; worker_.send(link_, i, lender.lend()) == Sent::kTaken; ++i) {
    ASSERT_LT(i, 4096U);
  }
  EXPECT_TRUE(until({&server_}, [&] {
    if (come(worker_)) worker_.poll();
    return worker_.writable.count(link_) == 1;
  }));
  EXPECT_TRUE(until({&worker_, &server_}, [&] { return lender.all_ended(); }));
}

}  // namespace
}  // namespace stretto::conformance
