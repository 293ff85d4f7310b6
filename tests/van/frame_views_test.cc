// SPDX-License-Identifier: Apache-2.0
// Each view puts its fields where docs/WIRE.md says, changes no other byte, and reads them back.
#include "van/wire/frame_views.h"

#include <gtest/gtest.h>

namespace stretto::wire {
namespace {

// The bytes of a header with only these kind-specific fields set.
struct Fields {
  Kind kind = Kind::kControl;
  unsigned flags = 0;
  std::uint64_t version = 0;
  std::uint64_t base = 0;
};

Header plain(const Fields& fields) {
  Header header;
  header.kind = fields.kind;
  header.flags = static_cast<std::uint16_t>(fields.flags);
  header.version = fields.version;
  header.base = fields.base;
  header.priority = -3;
  return header;
}

Header with_part(const Fields& fields) {
  Header header = plain(fields);
  header.key = {7, 2};
  return header;
}

TEST(FrameViews, PushEncodesRoundAndComputedFrom) {
  const PushFrame push{.key = {7, 2},
                       .round = 5,
                       .computed_from = 4,
                       .wants_value = true,
                       .dtype = Dtype::kF32,
                       .codec = Codec::kInt8,
                       .priority = -3};
  Header header = with_part({Kind::kPush, kWantsValue, 5, 4});
  header.dtype = static_cast<std::uint8_t>(Dtype::kF32);
  header.codec = static_cast<std::uint8_t>(Codec::kInt8);
  EXPECT_EQ(encode(push.header()), encode(header));
  const PushFrame read = PushFrame::of(header);
  EXPECT_EQ(read.round, 5U);
  EXPECT_EQ(read.computed_from, 4U);
  EXPECT_EQ(read.root, 0U);
  EXPECT_EQ(encode(read.header()), encode(header));
}

TEST(FrameViews, APushOfABroadcastSaysTheRootInstead) {
  const PushFrame push{
      .key = {7, 2}, .round = 5, .root = 3, .assigns = true, .absent = true, .priority = -3};
  const Header header = with_part({Kind::kPush, kAssign | kAbsent, 5, 3});
  EXPECT_EQ(encode(push.header()), encode(header));
  EXPECT_EQ(PushFrame::of(header).root, 3U);
  EXPECT_EQ(PushFrame::of(header).computed_from, 0U);
  EXPECT_EQ(encode(PushFrame::of(header).header()), encode(header));
}

TEST(FrameViews, PullEncodesLeastAndLastVersion) {
  const PullFrame pull{
      .key = {7, 2}, .least_version = 6, .last_version = 4, .probes = true, .priority = -3};
  const Header header = with_part({Kind::kPull, kProbe, 6, 4});
  EXPECT_EQ(encode(pull.header()), encode(header));
  EXPECT_TRUE(PullFrame::of(header).probes);
  EXPECT_EQ(encode(PullFrame::of(header).header()), encode(header));
}

TEST(FrameViews, ValuesAndDonesTellTheSameOfAPart) {
  const ValueFacts facts{
      .version = 9, .slowest = 8, .own_applied = 7, .spread = 2, .contributors = 3};
  Header header = with_part({Kind::kValue, kWantsValue, 9, 8});
  header.own_applied = 7;
  header.spread = 2;
  header.contributors = 3;
  Header done = header;
  done.kind = Kind::kDone;
  done.flags = kProbe;
  header.dtype = static_cast<std::uint8_t>(Dtype::kF16);
  const ValueFrame value{
      .key = {7, 2}, .facts = facts, .answers_push = true, .dtype = Dtype::kF16, .priority = -3};
  EXPECT_EQ(encode(value.header()), encode(header));
  EXPECT_EQ(encode(ValueFrame::of(header).header()), encode(header));
  const DoneFrame told{.key = {7, 2}, .facts = facts, .answers_probe = true, .priority = -3};
  EXPECT_EQ(encode(told.header()), encode(done));
  EXPECT_EQ(encode(DoneFrame::of(done).header()), encode(done));
  EXPECT_EQ(DoneFrame::of(done).facts.slowest, 8U);
}

TEST(FrameViews, CreditTellsOfThePathAndChangesNothingElse) {
  Header header = plain({Kind::kCredit, kCreditNow, 0, 0});
  CreditFrame{.grant = 1000, .loop_wait_ns = 20}.put_into(header);
  EXPECT_EQ(encode(header), encode(plain({Kind::kCredit, kCreditNow, 1000, 20})));
  EXPECT_EQ(CreditFrame::of(header).grant, 1000U);
  EXPECT_EQ(CreditFrame::of(header).loop_wait_ns, 20U);
}

TEST(FrameViews, ASliceNamesTheFirstOfItsFrame) {
  const ContinuationFrame more{.key = {7, 2}, .first_sequence = 12, .offset = 64, .priority = -3};
  Header header = with_part({Kind::kMore, 0, 12, 0});
  header.offset = 64;
  EXPECT_EQ(encode(more.header()), encode(header));
  EXPECT_EQ(encode(ContinuationFrame::of(header).header()), encode(header));
  header = with_part({Kind::kMore, kAbandoned, 12, 0});
  EXPECT_TRUE(ContinuationFrame::of(header).abandoned);
  EXPECT_EQ(encode(ContinuationFrame::of(header).header()), encode(header));
}

TEST(FrameViews, CallsAndAnswersHaveTheCallsNumber) {
  const Header call = plain({Kind::kCall, 0, 5, 0xABCD});
  EXPECT_EQ(encode(CallFrame{.number = 5, .method = 0xABCD, .priority = -3}.header()),
            encode(call));
  EXPECT_EQ(encode(CallFrame::of(call).header()), encode(call));
  const Header answer = plain({Kind::kAnswer, 0, 5, 4});
  EXPECT_EQ(encode(AnswerFrame{.number = 5, .error = 4, .priority = -3}.header()), encode(answer));
  EXPECT_EQ(encode(AnswerFrame::of(answer).header()), encode(answer));
}

TEST(FrameViews, SumsGoUpAndValuesDown) {
  const Header up = with_part({Kind::kUp, kAssign | kAbsent, 5, 3});
  EXPECT_EQ(encode(ReduceFrame::of(up).header()), encode(up));
  EXPECT_TRUE(ReduceFrame::of(up).assigns && ReduceFrame::of(up).absent);
  EXPECT_EQ(ReduceFrame::of(up).root, 3U);
  const Header down = with_part({Kind::kDown, 0, 5, 0});
  EXPECT_EQ(encode(BroadcastFrame::of(down).header()), encode(down));
  EXPECT_EQ(BroadcastFrame::of(down).round, 5U);
}

TEST(FrameViews, AFrameIsOfTheRoundThatItsWorkerCounts) {
  EXPECT_EQ(round_of(PushFrame{.round = 5}.header()), 5U);
  EXPECT_EQ(round_of(ValueFrame{.facts = {.version = 9, .own_applied = 7}}.header()), 7U);
}

}  // namespace
}  // namespace stretto::wire
