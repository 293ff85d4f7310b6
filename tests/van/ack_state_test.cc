// SPDX-License-Identifier: Apache-2.0
// When what a far end is owed is told by a frame of its own.
#include "van/session/ack_state.h"

#include <gtest/gtest.h>

namespace stretto {
namespace {

using Telling = AckState::Telling;

constexpr std::uint64_t kMuch = 1000;

class AckStateTest : public testing::Test {
 protected:
  // A frame leaves that tells all there is.
  void tell(wire::Kind kind) {
    wire::Header header;
    header.kind = kind;
    header.credit = owed_.taken_bytes();
    header.acked = owed_.applied();
    owed_.note_told(header);
  }

  AckState owed_;
};

TEST_F(AckStateTest, NothingIsOwedAtFirst) {
  EXPECT_EQ(owed_.settle(kMuch, true), Telling::kSettled);
}

TEST_F(AckStateTest, LittleCreditWaitsUntilItIsLate) {
  owed_.take(kMuch - 1, false);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kLater);
  EXPECT_EQ(owed_.settle(kMuch, true), Telling::kNow);
}

TEST_F(AckStateTest, MuchCreditIsToldAtOnce) {
  owed_.take(kMuch, false);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kNow);
}

TEST_F(AckStateTest, RequestedAckIsSentAtOnce) {
  owed_.take(1, true);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kNow);
  tell(wire::Kind::kCredit);
  owed_.apply(1, true);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kNow);
}

TEST_F(AckStateTest, AnswersFarewellAtOnceUnlessFrameDid) {
  owed_.hear();
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kLater);
  owed_.hear_farewell();
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kNow);
  tell(wire::Kind::kCredit);
  owed_.hear_farewell();
  tell(wire::Kind::kControl);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kSettled);
}

TEST_F(AckStateTest, AckOnOtherFrameIsSettled) {
  owed_.take(1, true);
  owed_.apply(1, false);
  EXPECT_TRUE(owed_.acks());
  tell(wire::Kind::kControl);
  EXPECT_FALSE(owed_.acks());
  EXPECT_EQ(owed_.settle(kMuch, true), Telling::kSettled);
}

TEST_F(AckStateTest, OneFrameIsQueuedAtATime) {
  owed_.take(kMuch, false);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kNow);
  owed_.take(kMuch, false);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kSettled) << "the one that waits will tell it";
  tell(wire::Kind::kCredit);
  owed_.take(kMuch, false);
  EXPECT_EQ(owed_.settle(kMuch, false), Telling::kNow);
}

TEST_F(AckStateTest, AcksNeverGoBack) {
  owed_.apply(5, false);
  owed_.apply(3, false);
  EXPECT_EQ(owed_.applied(), 5U);
}

using OwedDeathTest = AckStateTest;

TEST_F(OwedDeathTest, TellingMoreThanWasTakenIsABug) {
  wire::Header header;
  header.credit = 1;
  EXPECT_DEATH(owed_.note_told(header), "credit <= taken_bytes_");
}

}  // namespace
}  // namespace stretto
