// SPDX-License-Identifier: Apache-2.0
// How links end, and which calls are rejected: each end is reported once and last, and every lease
// ends in any case.
#include "tests/conformance/conformance.h"

namespace stretto::conformance {
namespace {

TEST_P(Conformance, TheFarEndsDeathIsToldOnceToAConnectedLink) {
  accepted_link();
  Lender lender(pattern(300'000, 1));
  for (int i = 0; i < 50; ++i) {
    if (worker_.send(link_, 1, lender.lend()) != Sent::kTaken) break;
  }
  server_.destroy();
  ASSERT_TRUE(until({&worker_}, [&] {
    worker_.send(link_, 2, lender.lend());
    return worker_.broken.count(link_) == 1;
  }));
  EXPECT_EQ(worker_.broken.at(link_).code(), Code::kLinkBroken);
  EXPECT_EQ(worker_.send(link_, 3, lender.lend()), Sent::kBroken);
  for (int i = 0; i < 20; ++i) worker_.poll(1ms);
  EXPECT_EQ(worker_.broken.size(), 1U);
  EXPECT_TRUE(until({&worker_}, [&] { return lender.all_ended(); }));
}

TEST_P(Conformance, TheFarEndsDeathIsToldOnceToAnAcceptedLink) {
  const LinkId back = accepted_link();
  Lender lender(pattern(300'000, 1));
  for (int i = 0; i < 50; ++i) {
    if (server_.send(back, 1, lender.lend()) != Sent::kTaken) break;
  }
  worker_.destroy();
  ASSERT_TRUE(until({&server_}, [&] {
    server_.send(back, 2, lender.lend());
    return server_.broken.count(back) == 1;
  }));
  EXPECT_EQ(server_.broken.at(back).code(), Code::kLinkBroken);
  EXPECT_EQ(server_.send(back, 3, lender.lend()), Sent::kBroken);
  for (int i = 0; i < 20; ++i) server_.poll(1ms);
  EXPECT_EQ(server_.broken.size(), 1U);
  EXPECT_TRUE(until({&server_}, [&] { return lender.all_ended(); }));
}

TEST_P(Conformance, ASilentFarEndsDeathIsToldToo) {
  const LinkId back = accepted_link();
  worker_.destroy();
  ASSERT_TRUE(until({&server_}, [&] { return server_.broken.count(back) == 1; }));
  End late(world_->endpoint());
  const LinkId link = late.connect(address_);
  ASSERT_EQ(late.send(link, 1), Sent::kTaken);
  ASSERT_TRUE(until({&server_, &late}, [&] { return server_.accepted.size() == 2; }));
  server_.destroy();
  ASSERT_TRUE(until({&late}, [&] { return late.broken.count(link) == 1; }));
}

TEST_P(Conformance, FramesBeforeBreakFormPrefix) {
  accepted_link();
  for (int round = 0; round < 20; ++round) {
    End brief(world_->endpoint());
    const LinkId link = brief.connect(address_);
    const std::size_t known = server_.accepted.size();
    ASSERT_EQ(brief.send(link, 1), Sent::kTaken);
    ASSERT_TRUE(until({&brief, &server_}, [&] {
      return server_.accepted.size() > known &&
             server_.sequences[server_.accepted.back()].size() == 1;
    }));
    const LinkId back = server_.accepted.back();
    for (std::uint64_t i = 2; i <= 40; ++i) ASSERT_EQ(brief.send(link, i), Sent::kTaken);
    for (int i = 0; i < round; ++i) brief.poll();
    brief.destroy();
    ASSERT_TRUE(until({&server_}, [&] { return server_.broken.count(back) == 1; }));
    const auto& came = server_.sequences[back];
    EXPECT_EQ(came, numbers(1, came.size()));
  }
}

TEST_P(Conformance, ManyEndsAreEachToldOnce) {
  constexpr std::size_t kMany = 30;
  accepted_link();
  for (std::size_t round = 1; round <= 3; ++round) {
    std::vector<std::unique_ptr<End>> many;
    std::vector<End*> all = {&server_};
    for (std::size_t i = 0; i < kMany; ++i) {
      many.push_back(std::make_unique<End>(world_->endpoint()));
      all.push_back(many.back().get());
      ASSERT_EQ(many.back()->send(many.back()->connect(address_), 1), Sent::kTaken);
    }
    ASSERT_TRUE(until(all, [&] { return server_.frames == round * kMany; }));
    many.clear();
    ASSERT_TRUE(until({&server_}, [&] { return server_.broken.size() == round * kMany; }));
  }
  for (int i = 0; i < 20; ++i) server_.poll(1ms);
  EXPECT_EQ(server_.accepted.size(), 3 * kMany + 1);
  EXPECT_EQ(server_.broken.size(), 3 * kMany);
  send_all(worker_, link_, server_, 10);
}

TEST_P(Conformance, ConnectingToAbsentPeerBreaksOnce) {
  Lender lender(pattern(1'000, 1));
  const LinkId link = worker_.connect(address_of_nobody());
  EXPECT_NE(worker_.send(link, 1, lender.lend()), Sent::kFull);
  ASSERT_TRUE(until({&worker_}, [&] { return worker_.broken.count(link) == 1; }));
  EXPECT_EQ(worker_.send(link, 2, lender.lend()), Sent::kBroken);
  for (int i = 0; i < 20; ++i) worker_.poll(1ms);
  EXPECT_TRUE(until({&worker_}, [&] { return lender.all_ended(); }));
  accepted_link();  // The other link of the same endpoint works.
}

TEST_P(Conformance, ClosingWhileConnectingStallsNoLink) {
  accepted_link();
  const std::string nobody = address_of_nobody();
  for (std::uint64_t i = 1; i <= 30; ++i) {
    worker_.close(worker_.connect(i % 2 == 0 ? address_ : nobody));
    const LinkId polled = worker_.connect(i % 2 == 0 ? address_ : nobody);
    worker_.poll();
    if (worker_.broken.count(polled) == 0) worker_.close(polled);
    ASSERT_EQ(worker_.send(link_, i), Sent::kTaken);
    ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == i; }));
  }
}

TEST_P(Conformance, ClosingAConnectedLinkIsToldThereAndNotHere) {
  const LinkId back = accepted_link();
  worker_.close(link_);
  EXPECT_EQ(worker_.send(link_, 1), Sent::kBroken);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.broken.count(back) == 1; }));
  for (int i = 0; i < 20; ++i) worker_.poll(1ms);
  EXPECT_TRUE(worker_.broken.empty());
}

TEST_P(Conformance, ClosingAnAcceptedLinkIsToldThereAndNotHere) {
  const LinkId back = accepted_link();
  server_.close(back);
  EXPECT_EQ(server_.send(back, 1), Sent::kBroken);
  ASSERT_TRUE(until({&worker_, &server_}, [&] {
    worker_.send(link_, 1);
    return worker_.broken.count(link_) == 1;
  }));
  for (int i = 0; i < 20; ++i) server_.poll(1ms);
  EXPECT_TRUE(server_.broken.empty());
  EXPECT_EQ(server_.frames, 0U);
}

TEST_P(Conformance, ClosingOneOfManyLeavesTheOthers) {
  const LinkId first = accepted_link();
  End other(world_->endpoint());
  const LinkId other_link = other.connect(address_);
  ASSERT_EQ(other.send(other_link, 1), Sent::kTaken);
  ASSERT_TRUE(until({&other, &server_}, [&] { return server_.accepted.size() == 2; }));
  server_.close(first);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return worker_.broken.count(link_) == 1; }));
  send_all(other, other_link, server_, 100, 2);
  ASSERT_TRUE(until({&other, &server_}, [&] { return server_.frames == 101; }));
  EXPECT_TRUE(other.broken.empty());
}

TEST_P(Conformance, ALinkMayBeClosedInItsOwnCallbacks) {
  server_.when_link = [&](LinkId link) { server_.close(link); };
  ASSERT_EQ(worker_.send(link_, 1), Sent::kTaken);
  ASSERT_EQ(worker_.send(link_, 2), Sent::kTaken);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return worker_.broken.count(link_) == 1; }));
  EXPECT_EQ(server_.frames, 0U);
  EXPECT_TRUE(server_.broken.empty());
  server_.when_link = nullptr;
  server_.when_frame = [&](LinkId link, const wire::Header&, const Buffer&) {
    server_.close(link);
  };
  link_ = worker_.connect(address_);
  for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_NE(worker_.send(link_, i), Sent::kFull);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return worker_.broken.count(link_) == 1; }));
  EXPECT_EQ(server_.frames, 1U);
  EXPECT_TRUE(server_.broken.empty());
}

TEST_P(Conformance, ABrokenLinkMayBeReplacedInItsCallback) {
  const LinkId back = accepted_link();
  LinkId again = 0;
  worker_.when_broken = [&](LinkId) {
    again = worker_.connect(address_);
    EXPECT_EQ(worker_.send(again, 7), Sent::kTaken);
  };
  server_.close(back);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == 1; }));
  EXPECT_NE(again, link_);
  EXPECT_EQ(server_.sequences[server_.accepted.back()], numbers(7, 7));
}

TEST_P(Conformance, TransportSurvivesCallbackException) {
  server_.when_frame = [](LinkId, const wire::Header&, const Buffer&) { throw std::bad_alloc(); };
  ASSERT_EQ(worker_.send(link_, 1), Sent::kTaken);
  EXPECT_THROW(until({&worker_, &server_}, [] { return false; }), std::bad_alloc);
  server_.when_frame = nullptr;
  const LinkId again = worker_.connect(address_);  // The first link may have lost bytes.
  ASSERT_EQ(worker_.send(again, 7), Sent::kTaken);
  EXPECT_TRUE(until({&worker_, &server_}, [&] {
    return server_.accepted.size() == 2 && server_.sequences[server_.accepted.back()].size() == 1;
  }));
}

TEST_P(Conformance, LinkIdsAreNeverUsedAgain) {
  // End checks that; in this test links open and close on both sides, in both directions.
  accepted_link();
  for (int i = 0; i < 40; ++i) {
    const std::size_t known = server_.accepted.size();
    const LinkId link = worker_.connect(address_);
    ASSERT_EQ(worker_.send(link, 1), Sent::kTaken);
    ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.accepted.size() > known; }));
    const LinkId back = server_.accepted.back();
    if (i % 2 == 0) {
      worker_.close(link);
      ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.broken.count(back) == 1; }));
    } else {
      server_.close(back);
      ASSERT_TRUE(until({&worker_, &server_}, [&] { return worker_.broken.count(link) == 1; }));
    }
  }
}

TEST_P(Conformance, LeasesEndWithTheirTransport) {
  const LinkId back = accepted_link();
  Lender lender(pattern(200'000, 1));
  while (worker_.send(link_, 1, lender.lend()) == Sent::kTaken) continue;
  while (server_.send(back, 1, lender.lend()) == Sent::kTaken) continue;
  const LinkId nowhere = worker_.connect(address_of_nobody());
  worker_.send(nowhere, 1, lender.lend());
  worker_.destroy();
  server_.destroy();
  EXPECT_TRUE(lender.all_ended());
}

TEST_P(Conformance, LeasesEndWithTheirLink) {
  const LinkId back = accepted_link();
  Lender lender(pattern(200'000, 1));
  while (worker_.send(link_, 1, lender.lend()) == Sent::kTaken) continue;
  while (server_.send(back, 1, lender.lend()) == Sent::kTaken) continue;
  worker_.close(link_);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.broken.count(back) == 1; }));
  EXPECT_TRUE(until({&worker_, &server_}, [&] { return lender.all_ended(); }));
}

TEST_P(Conformance, LeasesOfAClosedAcceptedLinkEnd) {
  const LinkId back = accepted_link();
  Lender lender(pattern(200'000, 1));
  while (server_.send(back, 1, lender.lend()) == Sent::kTaken) continue;
  server_.close(back);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return worker_.broken.count(link_) == 1; }));
  EXPECT_TRUE(until({&worker_, &server_}, [&] { return lender.all_ended(); }));
}

TEST_P(Conformance, UnknownLinksAreBrokenAndMayBeClosed) {
  Lender lender(pattern(10, 1));
  EXPECT_EQ(worker_.send(12'345, 1, lender.lend()), Sent::kBroken);
  EXPECT_EQ(server_.send(12'345, 1, lender.lend()), Sent::kBroken);
  EXPECT_EQ(worker_.send(0, 1, lender.lend()), Sent::kBroken);
  EXPECT_EQ(server_.send(0, 1, lender.lend()), Sent::kBroken);
  worker_.close(12'345);
  server_.close(12'345);
  server_.close(0);
  accepted_link();
}

TEST_P(Conformance, ASecondListenIsRefused) {
  const Result<std::string> again = server_.transport().listen(world_->any_address());
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().code(), Code::kInvalidArgument);
  EXPECT_NE(again.status().cause().find(address_), std::string::npos) << again.status().text();
  accepted_link();
}

TEST_P(Conformance, ListeningAtATakenPortSaysSo) {
  End other(world_->endpoint());
  const Result<std::string> taken = other.transport().listen(address_);
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.status().code(), Code::kNetwork);
  EXPECT_NE(taken.status().cause().find(address_), std::string::npos) << taken.status().text();
  other.listen(world_->any_address());  // A rejected listen has no effect.
}

TEST_P(Conformance, ListeningAgainAfterTheListenerIsGone) {
  server_.destroy();
  ASSERT_TRUE(until({&worker_}, [&] { return worker_.broken.count(link_) == 1; }));
  End next(world_->endpoint());
  EXPECT_EQ(next.listen(address_), address_);
  link_ = worker_.connect(address_);
  ASSERT_EQ(worker_.send(link_, 1), Sent::kTaken);
  ASSERT_TRUE(until({&worker_, &next}, [&] { return next.frames == 1; }));
}

TEST_P(Conformance, RejectsInvalidAddress) {
  for (const char* text : {"", "nowhere", ":1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536"}) {
    End other(world_->endpoint());
    const Result<std::string> listened = other.transport().listen(text);
    EXPECT_FALSE(listened.ok()) << text;
    EXPECT_FALSE(listened.status().cause().empty());
    EXPECT_FALSE(other.transport().connect(text).ok()) << text;
  }
}

}  // namespace
}  // namespace stretto::conformance
