// SPDX-License-Identifier: Apache-2.0
// A session resumes over another link: any frames lost with the first link, or with the second
// during the takeover, arrive once and in order, and no delivered frame is kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "van/session/session.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint64_t kFrames = 5;  // From each end.

// One end: its sent frames, its frames in transit, and the received ones.
struct End {
  End() { session.outlive(77); }

  // Pushes and control frames alternate.
  void send_new() {
    if (session.next_again() != nullptr || sent == kFrames) return;
    wire::Header header;
    header.kind = ++sent % 2 == 0 ? wire::Kind::kControl : wire::Kind::kPush;
    header.key.part = static_cast<std::uint32_t>(sent);
    const bool push = header.kind == wire::Kind::kPush;
    if (!push) header.acked = session.owed().applied();
    session.stamp(header, !push, push);
    const Buffer payload = Buffer::borrow(memory, [this] { ++leases_ended; });
    session.note_sent(header, payload);
    way.push_back(header);
  }
  void send_again() {
    const RetransmitBuffer::Kept* kept = session.next_again();
    if (kept == nullptr) return;
    way.push_back(kept->header);
    session.sent_again(kept->header);
  }
  void take(std::deque<wire::Header>& from) {
    if (from.empty()) return;
    const wire::Header header = from.front();
    from.pop_front();
    ASSERT_TRUE(session.check_order(header).ok());
    ASSERT_TRUE(session.check_told(header).ok());
    session.note_received(header);
    got.push_back(header.key.part);
    if (header.push_sequence != 0) session.owed().apply(header.push_sequence, false);
    while (const auto key = session.take_acked(header.acked)) acked.push_back(key->key.part);
  }

  Session session;
  std::byte memory[8] = {};
  std::uint64_t sent = 0;
  std::size_t leases_ended = 0;
  std::deque<wire::Header> way;
  std::vector<std::uint32_t> got;
  std::vector<std::uint32_t> acked;
};

// Two ends that send, deliver and retransmit, and links that break in between.
struct Pair {
  // One small step; `at` determines which.
  void act(int at) {
    switch (at % 6) {
      case 0:
        return near.send_new();
      case 1:
        return far.send_new();
      case 2:
        return far.take(near.way);
      case 3:
        return near.take(far.way);
      case 4:
        return near.send_again();
      default:
        return far.send_again();
    }
  }
  // Loses all frames in transit. With `heard`, the near end receives the far end's answer;
  // otherwise that is lost too, with its link.
  void break_link(bool heard) {
    near.way.clear();
    far.way.clear();
    const std::uint64_t received = far.session.received();
    ASSERT_TRUE(far.session.take_over(near.session.received()).ok());
    if (heard) {
      ASSERT_TRUE(near.session.take_over(received).ok());
    }
  }
  void settle() {
    for (int at = 0; at < 200; ++at) act(at);
    for (End* end : {&near, &far}) {  // Acks in a last frame.
      wire::Header credit;
      credit.kind = wire::Kind::kCredit;
      end->session.stamp(credit, false, false);
      end->session.note_sent(credit, {});
      End& other = end == &near ? far : near;
      other.session.note_received(credit);
      while (const auto key = other.session.take_acked(credit.acked)) {
        other.acked.push_back(key->key.part);
      }
    }
  }

  End near;
  End far;
};

void expect_whole(const Pair& pair) {
  for (const End* end : {&pair.near, &pair.far}) {
    EXPECT_THAT(end->got, ElementsAre(1, 2, 3, 4, 5));
    EXPECT_THAT(end->acked, ElementsAre(1, 3, 5));
    EXPECT_EQ(end->leases_ended, kFrames) << "nothing that has arrived is kept";
  }
}

TEST(SessionTakeover, NothingIsLostOrTwiceWhereverTwoLinksBreak) {
  constexpr int kLast = 60;
  for (int first = 0; first < kLast; ++first) {
    for (int second = first; second < kLast; ++second) {
      for (const bool heard : {true, false}) {
        SCOPED_TRACE(testing::Message() << "links break after " << first << " and " << second
                                        << (heard ? "" : ", the first answer is lost"));
        Pair pair;
        for (int at = 0; at < kLast; ++at) {
          if (at == first) pair.break_link(heard);
          if (at == first && !heard) pair.break_link(true);
          if (at == second) pair.break_link(true);
          pair.act(at);
        }
        pair.settle();
        expect_whole(pair);
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(SessionTakeover, WithoutABreakNothingIsSentAgain) {
  Pair pair;
  pair.settle();
  expect_whole(pair);
  EXPECT_EQ(pair.near.session.next_again(), nullptr);
}

TEST(SessionTakeover, RetransmitCarriesCurrentCreditAndAcks) {
  End end;
  end.send_new();
  end.session.owed().take(100, false);
  end.session.owed().apply(4, false);
  ASSERT_TRUE(end.session.take_over(0).ok());
  const RetransmitBuffer::Kept* again = end.session.next_again();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->header.sequence, 1U);
  EXPECT_EQ(again->header.push_sequence, 1U);
  EXPECT_EQ(again->header.credit, 100U);
  EXPECT_EQ(again->header.acked, 4U);
}

TEST(SessionTakeover, TakeoverOwesCreditAgain) {
  End end;
  end.session.owed().take(100, false);
  end.send_new();
  end.send_new();
  EXPECT_EQ(end.session.owed().settle(1000, true), AckState::Telling::kSettled);
  ASSERT_TRUE(end.session.take_over(2).ok());
  EXPECT_EQ(end.session.owed().settle(1000, true), AckState::Telling::kNow);
}

TEST(SessionTakeover, RejectsReceivedCountOfUnsentFrames) {
  End end;
  end.send_new();
  EXPECT_THAT(end.session.take_over(2).cause(), HasSubstr("wanted 0 to 1"));
  wire::Header header;
  header.received = 2;
  EXPECT_EQ(end.session.check_told(header).code(), Code::kMalformed);
}

TEST(SessionTakeover, RejectsShrinkingReceivedCount) {
  End end;
  end.send_new();
  end.send_new();
  wire::Header header;
  header.sequence = 1;
  header.received = 2;
  end.session.note_received(header);
  EXPECT_EQ(end.leases_ended, 2U);
  EXPECT_EQ(end.session.take_over(1).code(), Code::kMalformed);
  EXPECT_TRUE(end.session.take_over(2).ok()) << "and a claim that is wrong does no harm";
}

TEST(SessionTakeover, UnacknowledgedOverflowEndsRetention) {
  Session session;
  session.outlive(1);
  wire::Header header;
  for (std::size_t i = 0; i <= RetransmitBuffer::kMost; ++i) {
    EXPECT_TRUE(session.outlives());
    session.stamp(header, false, false);
    session.note_sent(header, {});
  }
  EXPECT_FALSE(session.outlives());
}

TEST(SessionTakeover, ASessionThatEndsWithItsLinkKeepsNothing) {
  End end;
  end.session.outlive(0);
  end.send_new();
  EXPECT_EQ(end.leases_ended, 1U);
  wire::Header header;
  header.received = 9;
  EXPECT_TRUE(end.session.check_told(header).ok()) << "it is not asked";
}

}  // namespace
}  // namespace stretto
