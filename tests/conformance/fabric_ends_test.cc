// SPDX-License-Identifier: Apache-2.0
// Peers that are killed or suspended, and the number of copies of a payload. Forked children never
// return.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "tests/conformance/fabric_fixture.h"

namespace stretto::conformance {
namespace {

using FabricEnds = FabricInnocent;

/// A process that runs `body`, which may block forever.
class ForkedChild {
 public:
  template <typename Body>
  explicit ForkedChild(Body body) : id_(::fork()) {
    if (id_ != 0) return;
    body();
    ::_exit(0);
  }
  ~ForkedChild() { end(SIGKILL); }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

  void signal(int number) const { ::kill(id_, number); }
  void end(int number) {
    if (id_ <= 0) return;
    signal(number);
    ::waitpid(id_, nullptr, 0);
    id_ = 0;
  }

 private:
  pid_t id_;
};

// Messages sent before the death are delivered; then the break is reported, once.
TEST_F(FabricEnds, AKilledProcessIsHeardToItsEnd) {
  for (std::size_t round = 1; round <= 5; ++round) {
    ForkedChild child([this] {
      End end(make(nullptr));
      const LinkId link = end.connect(address_);
      Lender lender(pattern(50'000, 1));
      for (std::uint64_t i = 1; i <= 10; ++i) end.send(link, i, lender.lend());
      while (true) end.poll(1s);
    });
    ASSERT_TRUE(poll_until([&] {
      return server_.accepted.size() == round + 1 &&
             server_.sequences[server_.accepted.back()].size() == 10;
    }));
    child.end(SIGKILL);
    const LinkId link = server_.accepted.back();
    ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
    EXPECT_EQ(server_.broken.at(link).code(), Code::kLinkBroken);
    EXPECT_EQ(server_.sequences[link], numbers(1, 10));
    expect_innocent_works();
  }
  EXPECT_EQ(server_.broken.size(), 5U);
}

TEST_F(FabricEnds, KilledProcessesHarmNoOtherLink) {
  for (int round = 0; round < 20; ++round) {
    const std::size_t known = server_.accepted.size();
    ForkedChild child([this] {
      End end(make(nullptr));
      const LinkId link = end.connect(address_);
      Lender lender(pattern(60'000, 1));
      for (std::uint64_t i = 1;;) {
        if (end.send(link, i, lender.lend()) == Sent::kTaken) ++i;
        end.poll(1ms);
      }
    });
    const std::size_t frames = server_.frames + 2 * static_cast<std::size_t>(round);
    ASSERT_TRUE(poll_until([&] { return server_.accepted.size() > known; }));
    ASSERT_TRUE(poll_until([&] { return server_.frames >= frames; }));
    child.end(SIGKILL);
    const LinkId link = server_.accepted.back();
    ASSERT_TRUE(poll_until([&] { return server_.broken.count(link) == 1; }));
    const auto& came = server_.sequences[link];
    EXPECT_TRUE(came.empty() || came == numbers(1, came.size()));
    expect_innocent_works();
  }
}

// A process that opens many endpoints or loads a model does not poll meanwhile.
TEST_F(FabricEnds, UnpolledTimeCausesNoTimeout) {
  FabricOptions options = fabric_options();
  options.connect_timeout = options.handshake_timeout = 300ms;
  const SteadyClock clock;
  const auto busy_elsewhere = [&] {
    const Time end = clock.now() + 2 * options.connect_timeout;
    ASSERT_TRUE(until({&server_, &innocent_}, [&] { return clock.now() > end; }));
  };
  End far(make_fabric_transport(options).or_exit());
  End near(make_fabric_transport(options).or_exit());
  const LinkId link = near.connect(far.listen("127.0.0.1:0"));
  ASSERT_EQ(near.send(link, 1), Sent::kTaken);
  busy_elsewhere();  // Before the peer has sent anything,
  near.poll();
  far.poll();
  busy_elsewhere();  // before this end has,
  ASSERT_TRUE(until({&near, &far}, [&] { return !far.accepted.empty(); }));
  busy_elsewhere();  // and before the fabric carries data.
  ASSERT_TRUE(until({&near, &far}, [&] { return far.frames == 1; }));
  EXPECT_TRUE(near.broken.empty());
  EXPECT_TRUE(far.broken.empty());
}

// A stopped peer neither reads nor returns leases. Closing the links must free its leases all the
// same, and the endpoint must keep working.
TEST_F(FabricEnds, LeasesOfAStoppedFarEndEnd) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const ForkedChild child([&pipe] {
    End end(make(nullptr));
    const std::string address = end.listen("127.0.0.1:0") + "\n";
    if (::write(pipe[1], address.data(), address.size()) < 0) ::_exit(1);
    while (true) end.poll(1s);
  });
  std::string address(64, '\0');
  const ssize_t size = ::read(pipe[0], address.data(), address.size());
  ASSERT_GT(size, 1);
  address.resize(static_cast<std::size_t>(size) - 1);
  End sender(make_fabric_transport({.provider = "tcp;ofi_rxm"}).or_exit());
  const LinkId link = sender.connect(address);
  Lender lender(pattern(kMostPayload, 1));
  ASSERT_EQ(sender.send(link, 1, lender.lend()), Sent::kTaken);
  ASSERT_TRUE(until({&sender}, [&] { return lender.all_ended(); }));
  child.signal(SIGSTOP);
  for (std::uint64_t i = 2; i <= 20; ++i) sender.send(link, i, lender.lend());
  for (int i = 0; i < 20; ++i) sender.poll(1ms);
  EXPECT_FALSE(lender.all_ended());
  sender.close(link);
  EXPECT_TRUE(until({&sender}, [&] { return lender.all_ended(); }));
  const LinkId again = sender.connect(address_);
  ASSERT_EQ(sender.send(again, 1), Sent::kTaken);
  ASSERT_TRUE(until({&sender, &server_}, [&] { return server_.frames == 21; }));
  for (const int one : pipe) ::close(one);
}

TEST_F(FabricEnds, LargePayloadsAreNotCopied) {
  constexpr std::size_t kSize = kMostPayload;
  FabricCounts counts;
  End sender(make(&counts));
  const LinkId link = sender.connect(address_);
  const FabricCounts before = counts_;
  Lender lender(pattern(kSize, 3));
  bool whole = true;
  server_.when_frame = [&](LinkId, const wire::Header&, const Buffer& payload) {
    whole = whole && payload.exclusive() && has_pattern(payload.bytes(), 3);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(payload.data()) % 64, 0U);
  };
  for (std::uint64_t i = 1; i <= 30; ++i)
    ASSERT_EQ(sender.send(link, i, lender.lend()), Sent::kTaken);
  ASSERT_TRUE(until({&sender, &server_}, [&] { return lender.all_ended(); }));
  EXPECT_TRUE(whole);
  EXPECT_EQ(counts.copied_bytes, 0U);
  EXPECT_EQ(counts_.copied_bytes - before.copied_bytes, 0U);
  EXPECT_EQ(counts_.read_bytes - before.read_bytes, 30 * kSize);
}

// One of libfabric's providers would replace them.
TEST_F(FabricEnds, SignalsKeepTheirHandlers) {
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction now{};
    ASSERT_EQ(::sigaction(number, nullptr, &now), 0);
    EXPECT_EQ(now.sa_handler, SIG_DFL) << number;
  }
}

TEST_F(FabricEnds, ProvidersThatAreNotThereAreUnsupported) {
  for (const char* provider : {"nobody", "shm"}) {
    const auto made = make_fabric_transport({.provider = provider});
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.status().code(), Code::kUnsupported) << made.status().text();
  }
  EXPECT_EQ(make_fabric_transport({.queue_frames = 0}).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace stretto::conformance
