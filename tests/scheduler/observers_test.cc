// SPDX-License-Identifier: Apache-2.0
// Answers to tools, and how many may ask.
#include "scheduler/observers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::HasSubstr;

class ObserversTest : public testing::Test {
 protected:
  wire::Control ask(wire::Observe::What what, std::uint32_t first = 0, std::uint64_t offset = 0) {
    wire::Observe question;
    question.set_what(what);
    question.set_first(first);
    question.set_offset(offset);
    question.set_iterations(3);
    question.set_seconds(10);
    return Observers::answer(question,
                             {.picture = picture_,
                              .registry = registry_,
                              .trace = trace_,
                              .phase = "running",
                              .members = members_},
                             Time{1h});
  }

  std::vector<Member> members_ = {
      {.node = 2, .role = Role::kWorker, .rank = 0, .shard = 0, .address = "", .left = false}};
  Picture picture_;
  Registry registry_;
  TraceSession trace_;
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
  const Registry::Place place = [](const Cut&) { return 0U; };
  for (int i = 0; i < 150; ++i) {
    const TensorSpec spec = fake::spec("t" + std::to_string(i), Dtype::kF32, 10);
    ASSERT_TRUE(registry_.declare(spec, 0, place, 1024).ok());
  }
  EXPECT_THAT(ask(wire::Observe::NAMES).observed().text(), HasSubstr(R"([100,"t99"]])"));
  EXPECT_THAT(ask(wire::Observe::NAMES, 101).observed().text(), HasSubstr(R"([[101,"t100"])"));
  EXPECT_EQ(ask(wire::Observe::NAMES, 151).observed().text(), "[]");
}

TEST_F(ObserversTest, RecordsComeFromAnOffset) {
  EXPECT_TRUE(ask(wire::Observe::START).has_observed());
  EXPECT_TRUE(ask(wire::Observe::START).has_fault());
  wire::TraceChunk chunk;
  chunk.set_session(1);
  const std::vector<TraceNote> notes(3000);
  chunk.set_notes(notes.data(), notes.size() * sizeof(TraceNote));
  trace_.on_chunk(2, chunk, Time{1h});
  trace_.on_chunk(2, chunk, Time{1h});
  EXPECT_EQ(ask(wire::Observe::RECORDS).observed().records().size(), 4096 * sizeof(TraceRecord));
  EXPECT_EQ(ask(wire::Observe::RECORDS, 0, 5000).observed().records().size(),
            1000 * sizeof(TraceRecord));
  EXPECT_TRUE(ask(wire::Observe::RECORDS, 0, 6000).observed().records().empty());
  EXPECT_TRUE(ask(wire::Observe::RECORDS, 7).observed().records().empty());
}

TEST_F(ObserversTest, WhatIsNotKnownIsAFault) {
  EXPECT_TRUE(ask(wire::Observe::NOTHING).has_fault());
}

}  // namespace
}  // namespace stretto
