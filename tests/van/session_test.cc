// SPDX-License-Identifier: Apache-2.0
// Sequence numbers of a session: a sent frame gets the next one, a received frame must have it.
#include "van/session/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using testing::HasSubstr;

class SessionTest : public testing::Test {
 protected:
  // Stamps a frame, and returns the sent header.
  wire::Header send(wire::Kind kind, wire::Key key = {}) {
    wire::Header header;
    header.kind = kind;
    header.key = key;
    near_.stamp(header, kind == wire::Kind::kControl, kind == wire::Kind::kPush);
    near_.note_sent(header, {});
    return header;
  }

  Session near_;
  Session far_;
};

TEST_F(SessionTest, FramesArriveInTheirOrderOrTheLinkIsBroken) {
  const wire::Header first = send(wire::Kind::kControl);
  const wire::Header second = send(wire::Kind::kPull);
  EXPECT_THAT(far_.check_order(second).cause(), HasSubstr("frame 2 came after frame 0"));
  EXPECT_TRUE(far_.check_order(first).ok());
  far_.note_received(first);
  EXPECT_EQ(far_.check_order(first).code(), Code::kLinkBroken) << "not twice";
  EXPECT_TRUE(far_.check_order(second).ok());
}

TEST_F(SessionTest, PushesAreNumberedAndTakenOnceAcked) {
  send(wire::Kind::kPull);
  EXPECT_EQ(send(wire::Kind::kPush, {1, 0}).push_sequence, 1U);
  EXPECT_EQ(send(wire::Kind::kPush, {1, 1}).push_sequence, 2U);
  EXPECT_EQ(near_.take_acked(0), std::nullopt);
  EXPECT_EQ(near_.take_acked(2)->key, (wire::Key{1, 0}));
  EXPECT_EQ(near_.take_acked(2)->key, (wire::Key{1, 1}));
  EXPECT_EQ(near_.take_acked(2), std::nullopt);
}

TEST_F(SessionTest, AckOfUnsentPushIsMalformed) {
  send(wire::Kind::kPush);
  wire::Header header;
  header.acked = 1;
  EXPECT_TRUE(near_.check_told(header).ok());
  header.acked = 2;
  EXPECT_EQ(near_.check_told(header).code(), Code::kMalformed);
}

TEST_F(SessionTest, AControlFrameTellsTheAcksThatItWasQueuedWith) {
  near_.owed().apply(3, false);
  wire::Header control;
  control.acked = 2;
  near_.stamp(control, true, false);
  EXPECT_EQ(control.acked, 2U);
  wire::Header data;
  near_.stamp(data, false, false);
  EXPECT_EQ(data.acked, 3U);
}

TEST_F(SessionTest, SaysWhetherCreditIsNew) {
  wire::Header header = send(wire::Kind::kPull);
  header.credit = 100;
  EXPECT_TRUE(far_.note_received(header));
  header.sequence = 2;
  EXPECT_FALSE(far_.note_received(header));
}

// A peer that credits data without reporting its frames would make the buffer grow without limit.
TEST_F(SessionTest, SessionRefusesCreditForUnreceivedData) {
  near_.outlive(77);
  send(wire::Kind::kControl);
  send(wire::Kind::kValue);
  send(wire::Kind::kMore);
  wire::Header header;
  header.received = 2;
  header.credit = wire::kHeaderBytes;
  EXPECT_TRUE(near_.check_told(header).ok());
  header.credit += 1;
  EXPECT_EQ(near_.check_told(header).code(), Code::kMalformed);
  EXPECT_THAT(near_.check_told(header).cause(), HasSubstr("must be told as received"));
  header.sequence = 1;
  header.credit = wire::kHeaderBytes;
  near_.note_received(header);
  header.received = 3;
  header.credit = 2 * wire::kHeaderBytes;
  EXPECT_TRUE(near_.check_told(header).ok()) << "what was dropped counts";
}

TEST_F(SessionTest, SessionGivesItsNameUpAfterItsFarEnd) {
  std::byte memory[8] = {};
  std::size_t leases_ended = 0;
  near_.outlive(77);
  wire::Header value;
  value.kind = wire::Kind::kValue;
  near_.stamp(value, false, false);
  near_.note_sent(value, Buffer::borrow(memory, [&] { ++leases_ended; }));
  wire::Header header;
  header.sequence = 1;
  header.credit = wire::kHeaderBytes + sizeof memory;  // It does not report a frame.
  EXPECT_TRUE(near_.check_told(header).ok());
  near_.note_received(header);
  EXPECT_FALSE(near_.outlives());
  EXPECT_EQ(leases_ended, 1U);
}

using SessionDeathTest = SessionTest;

TEST_F(SessionDeathTest, AFrameThatIsNotTheNextIsABug) {
  wire::Header header;
  header.sequence = 2;
  EXPECT_DEATH(near_.note_sent(header, {}), "sequence == sent_");
  EXPECT_DEATH(far_.note_received(header), "sequence == received_");
}

}  // namespace
}  // namespace stretto
