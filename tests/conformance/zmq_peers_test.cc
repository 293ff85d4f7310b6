// SPDX-License-Identifier: Apache-2.0
// Who has which descriptor, step by step: the orders of events that a network produces only rarely.
#include <gtest/gtest.h>

#include "van/zmq/peers.h"

namespace stretto::zmq {
namespace {

using testing::Test;

constexpr int kDescriptor = 9;

class PeersTest : public Test {
 protected:
  Peer& come(std::uint32_t number, int descriptor = kDescriptor) {
    Peer& peer = peers_.add(number, ++last_link_, descriptor, "127.0.0.1");
    peers_.heard(peer);
    return peer;
  }
  std::vector<LinkId> empty() {
    peers_.drained();
    return peers_.take_ended(true);
  }

  Peers peers_;
  LinkId last_link_ = 0;
};

TEST_F(PeersTest, APeerLivesFromAcceptToDisconnect) {
  peers_.accepted(kDescriptor);
  const Peer& peer = come(1);
  EXPECT_TRUE(peer.sure);
  EXPECT_TRUE(empty().empty());
  peers_.disconnected(kDescriptor);
  EXPECT_TRUE(peer.ended);
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
  EXPECT_TRUE(empty().empty());
  EXPECT_EQ(peers_.remove(1)->number, 1U);
  EXPECT_EQ(peers_.size(), 0U);
  EXPECT_EQ(peers_.find(1), nullptr);
  EXPECT_EQ(peers_.find_link(1), nullptr);
}

TEST_F(PeersTest, OneThatHasGoneBeforeItIsHeardOfHasEnded) {
  peers_.accepted(kDescriptor);
  peers_.disconnected(kDescriptor);
  EXPECT_TRUE(come(1).ended);
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
}

TEST_F(PeersTest, AnUnknownDescriptorHasEnded) { EXPECT_TRUE(come(1, -1).ended); }

TEST_F(PeersTest, ADescriptorUsedAgainIsNobodysForCertain) {
  peers_.accepted(kDescriptor);
  peers_.disconnected(kDescriptor);
  peers_.accepted(kDescriptor);
  Peer& old = come(1);  // It may be from before or after.
  EXPECT_FALSE(old.sure);
  EXPECT_FALSE(peers_.is_current(kDescriptor));
  EXPECT_FALSE(old.ended);
  EXPECT_TRUE(empty().empty());
  const Peer& now = come(2);  // The socket was empty in between, so this one is from after.
  EXPECT_TRUE(now.sure);
  EXPECT_TRUE(old.ended);
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
  EXPECT_FALSE(now.ended);
}

TEST_F(PeersTest, AfterAKnownOneTheNextIsCertain) {
  peers_.accepted(kDescriptor);
  const Peer& known = come(1);
  peers_.disconnected(kDescriptor);
  peers_.accepted(kDescriptor);
  const Peer& next = come(2);  // Nobody else can have left words in the socket.
  EXPECT_TRUE(known.ended);
  EXPECT_TRUE(next.sure);
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
  EXPECT_FALSE(next.ended);
}

TEST_F(PeersTest, LateWordsOfOneThatIsGoneAreKnownAsSuch) {
  peers_.accepted(kDescriptor);
  come(1);
  peers_.disconnected(kDescriptor);
  EXPECT_FALSE(peers_.is_gone(1));
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
  peers_.remove(1);
  EXPECT_TRUE(peers_.is_gone(1));
}

TEST_F(PeersTest, AnUncertainOneThatSpeaksAgainIsTheOneThatStayed) {
  peers_.accepted(kDescriptor);
  peers_.disconnected(kDescriptor);
  peers_.accepted(kDescriptor);
  const Peer& gone = come(1);
  Peer& stayed = come(2);
  EXPECT_FALSE(gone.ended || gone.sure || stayed.ended || stayed.sure);
  EXPECT_TRUE(empty().empty());
  peers_.heard(stayed);
  EXPECT_TRUE(stayed.sure);
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
}

TEST_F(PeersTest, ADisconnectEndsAllWhoMayHaveHadTheDescriptor) {
  peers_.accepted(kDescriptor);
  peers_.disconnected(kDescriptor);
  peers_.accepted(kDescriptor);
  come(1);
  come(2);
  peers_.disconnected(kDescriptor);
  EXPECT_EQ(empty(), (std::vector<LinkId>{1, 2}));
}

TEST_F(PeersTest, AnEndFromASendAndADisconnectAreOne) {
  peers_.accepted(kDescriptor);
  Peer& peer = come(1);
  peers_.end(peer, {Code::kLinkBroken, "sent in vain"});
  peers_.disconnected(kDescriptor);
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
  EXPECT_EQ(peers_.remove(1)->why.cause(), "sent in vain");
}

TEST_F(PeersTest, ARemovedPeerLeavesItsDescriptorToOthers) {
  peers_.accepted(kDescriptor);
  peers_.end(come(1), {Code::kLinkBroken, "sent in vain"});
  EXPECT_EQ(empty(), std::vector<LinkId>{1});
  peers_.remove(1);
  peers_.disconnected(kDescriptor);
  peers_.accepted(kDescriptor);
  EXPECT_TRUE(empty().empty());
  EXPECT_TRUE(come(2).sure);
}

TEST_F(PeersTest, UnderLoadAnEndWaitsOnlyUntilOthersHaveOvertaken) {
  peers_.accepted(kDescriptor);
  peers_.accepted(kDescriptor + 1);
  come(1);
  Peer& busy = come(2, kDescriptor + 1);
  peers_.disconnected(kDescriptor);
  int heard = 0;
  while (peers_.take_ended(false).empty()) {
    peers_.heard(busy);
    ASSERT_LT(++heard, 1000);
  }
  EXPECT_GE(heard, 64);
}

TEST_F(PeersTest, TheSilentAreHungUpOnWhenLateOrTooMany) {
  const Time start;
  for (int i = 0; i < 6; ++i) peers_.accepted(i, start + i * 1s);
  come(1, 2);  // Has spoken.
  using Descriptors = std::vector<int>;
  EXPECT_EQ(peers_.silent(start, start + 10s, 10), Descriptors());
  EXPECT_EQ(peers_.silent(start + 2s, start + 10s, 10), (Descriptors{0, 1}));
  EXPECT_EQ(peers_.silent(start, start + 10s, 3), (Descriptors{0, 1}));
  EXPECT_EQ(peers_.silent(start, start + 4s, 2), Descriptors{0});
  EXPECT_EQ(peers_.silent(start, start, 0), Descriptors());
}

}  // namespace
}  // namespace stretto::zmq
