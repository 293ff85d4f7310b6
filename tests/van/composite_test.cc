// SPDX-License-Identifier: Apache-2.0
// Which parts of a composite transport are polled for input. The conformance suite tests its
// behaviour as a transport.
#include "van/transport/composite.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <array>
#include <optional>

#include "common/descriptor.h"

namespace stretto {
namespace {

/// A part that counts how it is polled.
class CountedPart final : public Transport {
 public:
  Result<std::string> listen(std::string_view) override { return std::string("127.0.0.1:1"); }
  Result<LinkId> connect(std::string_view) override { return LinkId{1}; }
  Sent try_send(LinkId, const wire::Header&, const Buffer&) override { return Sent::kTaken; }
  void close(LinkId) override {}
  void poll(Sink& sink, Duration wait) override {
    EXPECT_EQ(wait, Duration::zero());
    ++polls;
    if (speaks) sink.on_writable(1);
  }
  void poll_unsignalled(Sink& sink) override {
    ++unsignalled;
    if (speaks) sink.on_writable(1);
  }
  void wake() override {}
  std::optional<bool> has_come(Asked) override { return come; }
  int descriptor() const override { return event_.get(); }
  Duration may_wait(Duration) const override { return Duration::zero(); }

  void ring() const { ASSERT_EQ(::eventfd_write(event_.get(), 1), 0); }

  int polls = 0;
  int unsignalled = 0;
  bool speaks = false;
  std::optional<bool> come;

 private:
  Descriptor event_{::eventfd(0, EFD_NONBLOCK)};
};

class CompositeParts : public testing::Test, private Transport::Sink {
 protected:
  CompositeParts() {
    auto first = std::make_unique<CountedPart>();
    auto second = std::make_unique<CountedPart>();
    parts_ = {first.get(), second.get()};
    std::vector<Way> ways(1);
    ways[0].name = "counted";
    ways[0].transport = std::move(second);
    composite_ = make_composite_transport(std::move(first), std::move(ways), {}).or_exit();
    composite_->connect("127.0.0.1:1").or_exit();
  }
  void poll() { composite_->poll(*this, 1ms); }
  std::optional<bool> has_come(Transport::Asked asked) { return composite_->has_come(asked); }

  std::array<CountedPart*, 2> parts_{};

 private:
  void on_link(LinkId) override {}
  void on_frame(LinkId, wire::HeaderView, Buffer) override {}
  void on_broken(LinkId, Status) override {}
  void on_writable(LinkId) override {}

  std::unique_ptr<Transport> composite_;
};

TEST_F(CompositeParts, OnlyOneThatSignalsIsAsked) {
  poll();
  EXPECT_EQ(parts_[0]->polls + parts_[1]->polls, 0);
  EXPECT_GT(parts_[0]->unsignalled, 0);  // A poll for known input and for queued output.
  EXPECT_GT(parts_[1]->unsignalled, 0);
  parts_[1]->ring();
  poll();
  EXPECT_EQ(parts_[0]->polls, 0);
  EXPECT_EQ(parts_[1]->polls, 1);
}

TEST_F(CompositeParts, BusyTransportDoesNotStarveOther) {
  parts_[0]->speaks = true;
  for (int i = 1; i < 4; ++i) {
    parts_[1]->ring();
    poll();
    EXPECT_EQ(parts_[1]->polls, i);
  }
}

TEST_F(CompositeParts, KnowsPendingInputIfAllTransportsTell) {
  using enum Transport::Asked;
  parts_[1]->come = true;
  EXPECT_EQ(has_come(kMemory), std::nullopt);
  parts_[0]->come = false;
  EXPECT_EQ(has_come(kMemory), true);
  parts_[1]->come = false;
  EXPECT_EQ(has_come(kMemory), false);
  EXPECT_EQ(has_come(kSystem), false);
  parts_[1]->ring();
  EXPECT_EQ(has_come(kMemory), false);
  EXPECT_EQ(has_come(kSystem), true);
}

}  // namespace
}  // namespace stretto
