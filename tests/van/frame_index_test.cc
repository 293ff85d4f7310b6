// SPDX-License-Identifier: Apache-2.0
// Finds the frames of one tag without inspecting any other frame.
#include "van/queue/frame_index.h"

#include <gtest/gtest.h>

#include "tests/van/send_queue_fixture.h"

namespace stretto {
namespace {

class FrameIndexTest : public testing::Test {
 protected:
  void add(std::uint64_t mark, std::uint64_t tag) {
    FrameList one = frames_.add(tagged(0, mark, tag));
    lane_.splice(lane_.end(), one);
  }
  Marks of(std::uint64_t tag) {
    Marks marks;
    frames_.for_each(tag, [&](FrameList::iterator f) { marks.push_back(f->header.version); });
    return marks;
  }
  FrameIndex frames_;
  FrameList lane_;
};

TEST_F(FrameIndexTest, VisitsFramesOfTagInArrivalOrder) {
  for (std::uint64_t mark = 1; mark <= 9; ++mark) add(mark, mark % 3);
  EXPECT_EQ(of(1), (Marks{1, 4, 7}));
  EXPECT_EQ(of(2), (Marks{2, 5, 8}));
  EXPECT_EQ(of(0), Marks{}) << "those without a tag are nobody's";
  EXPECT_EQ(of(77), Marks{});
  EXPECT_EQ(frames_.visits(), 6U);
}

TEST_F(FrameIndexTest, DoesNotVisitDroppedFrames) {
  for (std::uint64_t mark = 1; mark <= 6; ++mark) add(mark, mark % 2 + 1);
  frames_.drop(lane_, std::next(lane_.begin(), 2));
  EXPECT_EQ(of(2), (Marks{1, 5}));
  while (!lane_.empty()) frames_.drop(lane_, lane_.begin());
  EXPECT_EQ(of(1), Marks{});
  EXPECT_EQ(of(2), Marks{});
}

TEST_F(FrameIndexTest, AVisitMayDropItsFrameTheLastOneToo) {
  for (std::uint64_t mark = 1; mark <= 4; ++mark) add(mark, 5);
  Marks dropped;
  frames_.for_each(5, [&](FrameList::iterator f) {
    dropped.push_back(f->header.version);
    frames_.drop(lane_, f);
  });
  EXPECT_EQ(dropped, (Marks{1, 2, 3, 4}));
  EXPECT_TRUE(lane_.empty());
  add(9, 6);
  EXPECT_EQ(of(5), Marks{}) << "though the memory of both is used again";
  EXPECT_EQ(of(6), Marks{9});
}

TEST_F(FrameIndexTest, APayloadIsGivenBackWhenItsFrameIsDropped) {
  int ended = 0;
  Frame lent = tagged(0, 1, 5);
  lent.payload = Buffer::borrow({}, [&ended] { ++ended; });
  FrameList one = frames_.add(std::move(lent));
  frames_.drop(one, one.begin());
  EXPECT_EQ(ended, 1);
}

/// Thousands of other frames wait, before and behind, on all links and at the same priorities.
class Steering : public SendQueueTest {
 protected:
  static constexpr std::uint64_t kOurs = 7;

  Steering() {
    for (std::uint64_t tag = 100; tag < 3100; ++tag) {
      if (tag == 1600) {
        for (LinkId link : {1U, 3U}) queue_.push(link, tagged(0, 1, kOurs));
        queue_.push(3, tagged(0, 2, kOurs));
      }
      queue_.push(static_cast<LinkId>(tag % 3 + 1), tagged(0, tag, tag));
    }
  }
  /// The number of frames that `steer` inspects.
  template <typename Steer>
  std::uint64_t cost(const Steer& steer) {
    const std::uint64_t before = queue_.backlog().steered();
    steer();
    return queue_.backlog().steered() - before;
  }
};

TEST_F(Steering, LooksAtTheFramesOfItsTagOnly) {
  EXPECT_EQ(cost([&] { queue_.set_urgency(kOurs, {.priority = 4}); }), 3U);
  EXPECT_EQ(cost([&] { queue_.set_urgency(kOurs, {.priority = 0}); }), 3U);
  EXPECT_EQ(cost([&] { queue_.pause(kOurs); }), 3U);
  EXPECT_EQ(cost([&] { EXPECT_EQ(queue_.backlog().untouched(kOurs), 3U); }), 3U);
  EXPECT_EQ(cost([&] { queue_.resume(kOurs); }), 3U);
  EXPECT_EQ(cost([&] { queue_.set_urgency(99, {.priority = 4}); }), 0U);
  queue_.set_urgency(kOurs, {.priority = 4});
  EXPECT_EQ(take(), 1U);
  EXPECT_EQ(cost([&] { EXPECT_EQ(queue_.cancel(kOurs).size(), 2U); }), 2U);
  EXPECT_EQ(cost([&] { queue_.resume(kOurs); }), 0U);
  EXPECT_EQ(queue_.waiting(), 3000U);
}

TEST_F(Steering, MovesNoFrameInMemory) {
  queue_.set_urgency(kOurs, {.priority = 4});
  const Frame* frame = queue_.next()->frame;
  queue_.set_urgency(kOurs, {.priority = 3});
  queue_.pause(kOurs);
  queue_.resume(kOurs);
  const auto pick = queue_.next();
  EXPECT_EQ(pick->frame->tag, kOurs);
  EXPECT_EQ(pick->frame, frame);
}

TEST_F(Steering, SteersEachFrameAtConstantCost) {
  for (std::uint64_t tag = 100; tag < 3100; ++tag) {
    EXPECT_EQ(cost([&] { queue_.set_urgency(tag, {static_cast<std::int32_t>(tag)}); }), 1U);
  }
  for (std::uint64_t tag = 3099; tag > 2999; --tag) ASSERT_EQ(take(), tag);
}

}  // namespace
}  // namespace stretto
