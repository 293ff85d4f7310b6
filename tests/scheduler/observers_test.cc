// SPDX-License-Identifier: Apache-2.0
// Answers to tools, and how many may ask.
#include "scheduler/observers/observers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using What = control::Observe::What;

using testing::HasSubstr;

class ObserversTest : public testing::Test {
 protected:
  control::Message ask(What what, std::uint32_t first = 0, std::uint64_t offset = 0) {
    return Observers::answer(
        {.what = what, .first = first, .iterations = 3, .seconds = 10, .offset = offset},
        {.snapshot = snapshot_,
         .registry = registry_,
         .trace = trace_,
         .stacks = stacks_,
         .phase = "running",
         .members = members_},
        Time{1h});
  }

  std::vector<Member> members_ = {
      {.node = 2, .role = Role::kWorker, .rank = 0, .shard = 0, .address = "", .left = false}};
  Snapshot snapshot_;
  TensorRegistry registry_;
  TraceSession trace_;
  StackRequests stacks_;
};

TEST_F(ObserversTest, TooManyAreRefused) {
  Observers observers;
  for (LinkId link = 1; link <= Observers::kMost; ++link) EXPECT_TRUE(observers.add(link).ok());
  EXPECT_EQ(observers.add(1000).code(), Code::kResource);
  observers.remove(5);
  EXPECT_FALSE(observers.has(5));
  EXPECT_TRUE(observers.add(1000).ok());
}

TEST_F(ObserversTest, NamesComeInPages) {
  const TensorRegistry::Place place = [](const Cut&) { return 0U; };
  for (int i = 0; i < 150; ++i) {
    const TensorSpec spec = fake::spec("t" + std::to_string(i), Dtype::kF32, 10);
    ASSERT_TRUE(registry_.declare(spec, 0, place, 1024).ok());
  }
  EXPECT_THAT(std::get<control::Observed>(ask(What::kNames)).text, HasSubstr(R"([100,"t99"]])"));
  EXPECT_THAT(std::get<control::Observed>(ask(What::kNames, 101)).text,
              HasSubstr(R"([[101,"t100"])"));
  EXPECT_EQ(std::get<control::Observed>(ask(What::kNames, 151)).text, "[]");
}

TEST_F(ObserversTest, AWorkerIsMeantByTheNumberThatMessagesNameItBy) {
  members_[0].moved_up = 3;  // Three before it are lost: it has rank 0 and is worker 3.
  EXPECT_TRUE(std::holds_alternative<control::Observed>(ask(What::kStack, 3)));
  EXPECT_THAT(std::get<control::Fault>(ask(What::kStack, 0)).why.cause(),
              HasSubstr("there is no worker 0 in this job"));
}

TEST_F(ObserversTest, RecordsComeFromAnOffset) {
  EXPECT_TRUE(control::is<control::Observed>(ask(What::kStart)));
  EXPECT_TRUE(control::is<control::Fault>(ask(What::kStart)));
  const control::TraceChunk chunk{.session = 1, .notes = std::vector<TraceNote>(3000)};
  trace_.on_chunk(2, chunk, Time{1h});
  trace_.on_chunk(2, chunk, Time{1h});
  EXPECT_EQ(std::get<control::Observed>(ask(What::kRecords)).records.size(),
            4096 * sizeof(TraceRecord));
  EXPECT_EQ(std::get<control::Observed>(ask(What::kRecords, 0, 5000)).records.size(),
            1000 * sizeof(TraceRecord));
  EXPECT_TRUE(std::get<control::Observed>(ask(What::kRecords, 0, 6000)).records.empty());
  EXPECT_TRUE(std::get<control::Observed>(ask(What::kRecords, 7)).records.empty());
}

TEST_F(ObserversTest, UnknownQueryGetsFault) {
  EXPECT_TRUE(control::is<control::Fault>(ask(What::kNothing)));
}

}  // namespace
}  // namespace stretto
