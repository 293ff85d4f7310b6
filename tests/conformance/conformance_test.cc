// SPDX-License-Identifier: Apache-2.0
// Frames on links that stay up: content, order, sender, and ownership of the bytes. For the ends of
// links see conformance_breaks_test.cc.
#include "tests/conformance/conformance.h"

#include <algorithm>
#include <thread>

namespace stretto::conformance {
namespace {

INSTANTIATE_TEST_SUITE_P(Transports, Conformance, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param.name; });

/// Tests that need endpoints on several threads, which a simulated network does not support.
class ThreadedConformance : public Conformance {};
INSTANTIATE_TEST_SUITE_P(Transports, ThreadedConformance, testing::ValuesIn(threaded_kinds()),
                         [](const auto& kind) { return kind.param.name; });

TEST_P(Conformance, TenThousandFramesArriveInOrder) {
  constexpr std::uint64_t kFrames = 10'000;
  send_all(worker_, link_, server_, kFrames);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == kFrames; }));
  ASSERT_EQ(server_.accepted.size(), 1U);
  EXPECT_EQ(server_.sequences[server_.accepted[0]], numbers(1, kFrames));
  EXPECT_TRUE(server_.broken.empty());
  EXPECT_TRUE(worker_.broken.empty());
}

TEST_P(Conformance, DeliversPayloadsOfAllSizes) {
  const std::size_t sizes[] = {0,       1,    63,   64,   65,   511,      512,    513,
                               4095,    4096, 4097, 8191, 8192, 8193,     65'536, 262'145,
                               1 << 20, 0,    7,    100,  2000, 64 << 20, 3,      1'000'003};
  std::size_t arrived = 0;
  server_.when_frame = [&](LinkId, const wire::Header& header, const Buffer& payload) {
    EXPECT_EQ(payload.size(), sizes[arrived]);
    EXPECT_TRUE(has_pattern(payload.bytes(), static_cast<std::uint32_t>(header.sequence)));
    ++arrived;
  };
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    Lender lender(pattern(sizes[i], static_cast<std::uint32_t>(i)));
    ASSERT_TRUE(until({&worker_, &server_},
                      [&] { return worker_.send(link_, i, lender.lend()) == Sent::kTaken; }));
    ASSERT_TRUE(until({&worker_, &server_}, [&] { return lender.all_ended(); }));
  }
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return arrived == std::size(sizes); }));
}

TEST_P(Conformance, DeliversCompleteHeader) {
  wire::Header sent;
  sent.kind = wire::Kind::kPush;
  sent.epoch = 7;
  sent.priority = -3;
  sent.key = {.tensor = 11, .part = 13};
  sent.version = ~std::uint64_t{0};
  sent.deadline = 0x0123456789abcdef;
  wire::Header came;
  server_.when_frame = [&](LinkId, const wire::Header& header, const Buffer&) { came = header; };
  ASSERT_EQ(worker_.transport().try_send(link_, sent, {}), Sent::kTaken);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == 1; }));
  EXPECT_EQ(wire::encode(came), wire::encode(sent));
}

TEST_P(Conformance, ThirtyTwoSendersAreHeardInTheirOwnOrder) {
  constexpr std::uint64_t kFrames = 200;
  std::vector<std::unique_ptr<End>> senders;
  std::vector<End*> all = {&server_};
  std::vector<LinkId> links;
  std::vector<std::uint64_t> next(32, 1);
  for (std::size_t i = 0; i < next.size(); ++i) {
    senders.push_back(std::make_unique<End>(world_->endpoint()));
    all.push_back(senders.back().get());
    links.push_back(senders.back()->connect(address_));
  }
  ASSERT_TRUE(until(all, [&] {
    for (std::size_t i = 0; i < next.size(); ++i) {
      const Buffer payload = Buffer::copy_of(pattern(i * 300, static_cast<std::uint32_t>(i)));
      if (next[i] > kFrames || senders[i]->send(links[i], next[i], payload) != Sent::kTaken)
        continue;
      ++next[i];
    }
    return server_.frames == kFrames * next.size();
  }));
  ASSERT_EQ(server_.sequences.size(), next.size());
  for (const auto& [link, sequences] : server_.sequences) {
    EXPECT_EQ(sequences, numbers(1, kFrames)) << link;
  }
}

TEST_P(Conformance, BothDirectionsFlowAtOnce) {
  constexpr std::uint64_t kFrames = 2'000;
  const LinkId back = accepted_link();
  const Buffer payload = Buffer::copy_of(pattern(10'000, 1));
  std::uint64_t there = 1;
  std::uint64_t here = 1;
  ASSERT_TRUE(until({&worker_, &server_}, [&] {
    while (there <= kFrames && worker_.send(link_, there, payload) == Sent::kTaken) ++there;
    while (here <= kFrames && server_.send(back, here, payload) == Sent::kTaken) ++here;
    return server_.frames == kFrames && worker_.frames == kFrames;
  }));
  EXPECT_EQ(server_.sequences[back], numbers(1, kFrames));
  EXPECT_EQ(worker_.sequences[link_], numbers(1, kFrames));
}

TEST_P(ThreadedConformance, EndpointsOnTwoThreadsTalk) {
  constexpr std::uint64_t kFrames = 3'000;
  std::atomic<bool> over{false};
  server_.when_frame = [&](LinkId link, const wire::Header& header, Buffer payload) {
    EXPECT_EQ(server_.send(link, header.sequence, payload), Sent::kTaken);
  };
  std::jthread echo([&] {
    while (!over) server_.poll(100ms);
  });
  Lender lender(pattern(20'000, 5));
  std::uint64_t next = 1;
  const bool done = until({&worker_}, [&] {
    // Fewer frames in flight than any link holds, so that the echo never finds a full link.
    while (next <= kFrames && next - worker_.frames < 64 &&
           worker_.send(link_, next, lender.lend()) == Sent::kTaken) {
      ++next;
    }
    return worker_.frames == kFrames;
  });
  over = true;
  server_.transport().wake();
  echo.join();
  EXPECT_TRUE(done);
  EXPECT_EQ(worker_.sequences[link_], numbers(1, kFrames));
  EXPECT_TRUE(until({&worker_}, [&] { return lender.all_ended(); }));
}

// The receiver does not poll: the link must reject the sender's frames before many are queued, and
// lose no accepted frame.
void fill_then_drain(End& sender, LinkId link, End& receiver) {
  constexpr int kMostQueued = 4096;
  Lender lender(pattern(256 * 1024, 9));
  std::uint64_t taken = 0;
  ASSERT_TRUE(until({&sender}, [&] {
    while (lender.lent() < kMostQueued) {
      if (sender.send(link, taken + 1, lender.lend()) == Sent::kFull) return true;
      ++taken;
    }
    return true;
  }));
  ASSERT_LT(lender.lent(), kMostQueued) << "the link is never full";
  EXPECT_EQ(sender.writable.count(link), 0U);
  ASSERT_TRUE(until({&sender, &receiver}, [&] { return sender.writable.count(link) > 0; }));
  ASSERT_TRUE(until({&sender, &receiver},
                    [&] { return sender.send(link, taken + 1, lender.lend()) == Sent::kTaken; }));
  ++taken;
  ASSERT_TRUE(until({&sender, &receiver}, [&] { return receiver.frames == taken; }));
  ASSERT_EQ(receiver.sequences.size(), 1U);
  EXPECT_EQ(receiver.sequences.begin()->second, numbers(1, taken));
  EXPECT_TRUE(until({&sender, &receiver}, [&] { return lender.all_ended(); }));
}

TEST_P(Conformance, AFullConnectedLinkRefusesAndLosesNothing) {
  fill_then_drain(worker_, link_, server_);
}

TEST_P(Conformance, AFullAcceptedLinkRefusesAndLosesNothing) {
  const LinkId back = accepted_link();
  fill_then_drain(server_, back, worker_);
}

TEST_P(Conformance, AFullLinkDoesNotHoldUpOthers) {
  const LinkId full = accepted_link();
  End other(world_->endpoint());
  const LinkId other_link = other.connect(address_);
  server_.when_frame = [&](LinkId link, const wire::Header& header, const Buffer&) {
    EXPECT_EQ(server_.send(link, header.sequence), Sent::kTaken);
  };
  const Buffer payload = Buffer::copy_of(pattern(256 * 1024, 2));
  while (server_.send(full, 1, payload) == Sent::kTaken) continue;
  for (std::uint64_t i = 1; i <= 200; ++i) {
    ASSERT_EQ(other.send(other_link, i), Sent::kTaken);
    ASSERT_TRUE(until({&other, &server_}, [&] { return other.frames == i; }));
  }
}

TEST_P(Conformance, OnePollDeliversABoundedNumberOfFrames) {
  constexpr std::size_t kMostAtOnce = 256;
  std::uint64_t next = 1;
  std::size_t most = 0;
  ASSERT_TRUE(until({&worker_}, [&] {
    while (next <= 5'000 && worker_.send(link_, next) == Sent::kTaken) ++next;
    const std::size_t before = server_.frames;
    server_.poll(1ms);
    most = std::max(most, server_.frames - before);
    return server_.frames == 5'000;
  }));
  EXPECT_LE(most, kMostAtOnce);
}

TEST_P(Conformance, FramesThatComeWhileWeOnlySendAreNotOverlooked) {
  const LinkId back = accepted_link();
  // Large enough to leave without a poll; but a receiver that fetches needs the sender's polls.
  const bool fetched = std::string_view(GetParam().name) == "fabric_tcp";
  const Buffer payload = fetched ? Buffer() : Buffer::allocate(10'000);
  std::uint64_t sent = 0;
  for (std::uint64_t round = 1; round <= 5; ++round) {
    ASSERT_EQ(server_.send(back, round, payload), Sent::kTaken);
    while (sent < round * 500) {
      if (sent == server_.frames) {
        ASSERT_EQ(worker_.send(link_, ++sent, payload), Sent::kTaken);
      }
      server_.poll(1ms);
    }
    ASSERT_TRUE(until({&worker_, &server_}, [&] { return worker_.frames == round; }));
  }
}

TEST_P(Conformance, PollOfZeroReturns) {
  accepted_link();
  for (int i = 0; i < 10'000; ++i) server_.poll(Duration::zero());
}

TEST_P(Conformance, AWakeBeforePollIsNotLost) {
  accepted_link();
  for (int i = 0; i < 100; ++i) {
    server_.transport().wake();
    server_.poll(std::chrono::hours(1));
  }
}

TEST_P(ThreadedConformance, AWakeFromAnotherThreadEndsAPoll) {
  accepted_link();
  std::atomic<int> polls{0};
  std::jthread waker([&](const std::stop_token& stop) {
    int seen = 0;
    while (!stop.stop_requested()) {
      server_.transport().wake();
      polls.wait(seen);
      seen = polls;
    }
  });
  while (polls < 1000) {
    server_.poll(std::chrono::hours(1));
    ++polls;
    polls.notify_all();
  }
  waker.request_stop();
  ++polls;
  polls.notify_all();
}

TEST_P(ThreadedConformance, AFrameEndsAPollThatWaits) {
  server_.when_frame = [&](LinkId link, const wire::Header& header, const Buffer&) {
    EXPECT_EQ(server_.send(link, header.sequence), Sent::kTaken);
  };
  std::jthread echo([&] {
    while (server_.frames < 100) server_.poll(std::chrono::hours(1));
  });
  for (std::uint64_t i = 1; i <= 100; ++i) {
    ASSERT_EQ(worker_.send(link_, i), Sent::kTaken);
    while (worker_.frames < i) worker_.poll(std::chrono::hours(1));
  }
}

TEST_P(Conformance, WritingToAPayloadThatIsOursSpoilsNothing) {
  std::vector<Buffer> kept;
  server_.when_frame = [&](LinkId, const wire::Header&, Buffer payload) {
    kept.push_back(std::move(payload));
    if (!kept.back().exclusive()) return;
    for (std::byte& one : kept.back().writable()) one = std::byte{0xff};
    kept.back() = {};
  };
  const std::size_t sizes[] = {1, 30, 64, 500, 1000, 4000, 9000, 100'000};
  std::vector<std::unique_ptr<Lender>> lenders;
  for (std::uint32_t i = 0; i < 200; ++i) {
    lenders.push_back(std::make_unique<Lender>(pattern(sizes[i % std::size(sizes)], i)));
    ASSERT_TRUE(until({&worker_, &server_}, [&] {
      return worker_.send(link_, i, lenders.back()->lend()) == Sent::kTaken;
    }));
  }
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == 200; }));
  for (std::uint32_t i = 0; i < 200; ++i) EXPECT_TRUE(has_pattern(lenders[i]->bytes(), i));
  for (std::uint32_t i = 0; i < kept.size(); ++i) {
    EXPECT_TRUE(kept[i].empty() || has_pattern(kept[i].bytes(), i)) << i;
  }
  kept.clear();
  ASSERT_TRUE(until({&worker_, &server_}, [&] {
    return std::ranges::all_of(lenders, [](const auto& one) { return one->all_ended(); });
  }));
}

TEST_P(Conformance, SenderContinuesWhenReceiverKeepsPayloads) {
  constexpr std::size_t kBytes = 100'000;
  std::vector<std::pair<std::uint64_t, Buffer>> kept;
  server_.when_frame = [&](LinkId, const wire::Header& header, Buffer payload) {
    if (payload.lasting()) kept.emplace_back(header.sequence, std::move(payload));
  };
  for (std::uint32_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(until({&worker_, &server_}, [&] {
      return worker_.send(link_, i, Buffer::copy_of(pattern(kBytes, i))) == Sent::kTaken;
    })) << i;
  }
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == 100; }));
  for (const auto& [sequence, payload] : kept) {
    EXPECT_TRUE(has_pattern(payload.bytes(), static_cast<std::uint32_t>(sequence))) << sequence;
  }
}

TEST_P(Conformance, APayloadMayOutliveItsTransport) {
  Lender lender(pattern(50'000, 4));
  Buffer kept;
  server_.when_frame = [&](LinkId, const wire::Header&, Buffer payload) {
    kept = std::move(payload);
  };
  ASSERT_EQ(worker_.send(link_, 1, lender.lend()), Sent::kTaken);
  ASSERT_TRUE(until({&worker_, &server_}, [&] { return server_.frames == 1; }));
  server_.destroy();
  worker_.destroy();
  EXPECT_TRUE(has_pattern(kept.bytes(), 4));
  kept = {};
  EXPECT_TRUE(lender.all_ended());
}

TEST_P(Conformance, CallbacksMaySendConnectAndClose) {
  End third(world_->endpoint());
  const std::string third_address = third.listen(world_->any_address());
  server_.when_frame = [&](LinkId link, const wire::Header& header, const Buffer&) {
    EXPECT_EQ(server_.send(link, header.sequence), Sent::kTaken);
    const LinkId onward = server_.connect(third_address);
    EXPECT_EQ(server_.send(onward, header.sequence), Sent::kTaken);
  };
  third.when_frame = [&](LinkId link, const wire::Header&, const Buffer&) { third.close(link); };
  ASSERT_EQ(worker_.send(link_, 42), Sent::kTaken);
  ASSERT_TRUE(until({&worker_, &server_, &third}, [&] {
    return worker_.frames == 1 && third.frames == 1 && server_.broken.size() == 1;
  }));
  EXPECT_EQ(worker_.sequences[link_], numbers(42, 42));
  EXPECT_TRUE(third.broken.empty());
}

}  // namespace
}  // namespace stretto::conformance
