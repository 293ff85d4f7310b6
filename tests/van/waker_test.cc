// SPDX-License-Identifier: Apache-2.0
// Wakes of a loop that sleeps, and of a loop that spins.
#include "van/transport/waker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace stretto {
namespace {

/// Counts wakes.
class WokenTransport final : public Transport {
 public:
  Result<std::string> listen(std::string_view) override { return std::string(); }
  Result<LinkId> connect(std::string_view) override { return LinkId{1}; }
  Sent try_send(LinkId, const wire::Header&, const Buffer&) override { return Sent::kTaken; }
  void close(LinkId) override {}
  void poll(Sink&, Duration) override {}
  void wake() override { ++wakes; }

  std::atomic<int> wakes = 0;
};

TEST(Waker, LookConsumesWakesBypassingTransport) {
  WokenTransport transport;
  Waker waker(transport);
  {
    Waker::Look look(waker);
    EXPECT_FALSE(look.take());
    waker.wake();
    waker.wake();
    EXPECT_TRUE(look.take());
    EXPECT_FALSE(look.take());
  }
  EXPECT_EQ(transport.wakes, 0);
  waker.wake();
  EXPECT_EQ(transport.wakes, 1);
}

TEST(Waker, AWakeThatWasNotTakenIsTheTransports) {
  WokenTransport transport;
  Waker waker(transport);
  {
    const Waker::Look look(waker);
    waker.wake();
  }
  EXPECT_EQ(transport.wakes, 1);
  Waker::Look next(waker);
  EXPECT_FALSE(next.take());
}

TEST(Waker, NothingIsWokenOnceItIsSilent) {
  WokenTransport transport;
  Waker waker(transport);
  {
    const Waker::Look look(waker);
    waker.wake();
    waker.silence();
  }
  waker.wake();
  EXPECT_EQ(transport.wakes, 0);
}

// Ends only if each wake is seen, either by a look or by the transport.
TEST(Waker, NoWakeIsLostBetweenALookAndASleep) {
  constexpr int kWakes = 20'000;
  WokenTransport transport;
  Waker waker(transport);
  std::atomic<int> asked = 0;
  std::atomic<int> seen = 0;
  std::thread other([&] {
    for (int i = 1; i <= kWakes; ++i) {
      asked = i;
      waker.wake();
      while (seen < i) std::this_thread::yield();
    }
  });
  while (seen < kWakes) {
    bool woken = false;
    {
      Waker::Look look(waker);
      for (int i = 0; i < 3 && !woken; ++i) woken = look.take();
    }
    woken = transport.wakes.exchange(0) > 0 || woken;
    if (woken) seen = asked.load();
    std::this_thread::yield();
  }
  other.join();
}

}  // namespace
}  // namespace stretto
