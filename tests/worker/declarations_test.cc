// SPDX-License-Identifier: Apache-2.0
// Names that the scheduler is asked for, once each, and what comes of them.
#include "worker/exchange/declarations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "tests/van/recorder.h"

namespace stretto {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class DeclarationsTest : public testing::Test {
 protected:
  DeclarationsTest() {
    EXPECT_TRUE(links_.connect(roster_, fake::hello(Role::kWorker, 0), clock_.now()).ok());
  }
  void declare(const std::string& name, Dtype dtype = Dtype::kF32) {
    declarations_.declare(fake::spec(name, dtype, 2), [this](const Result<Tensor>& result) {
      results_.push_back(result.status());
      if (result.ok()) ids_.push_back(result->id);
    });
  }
  /// One slot, of this owner.
  void answer(const std::string& name, std::uint32_t id, NodeId owner = 50) {
    declarations_.on_declared(
        {.tensor = id, .name = name, .owners = {{.first = 0, .count = 1, .owner = owner}}}, roster_,
        0);
  }

  sim::VirtualClock clock_;
  fake::Wire wire_;
  const Config config_ = fake::config(Role::kWorker);
  const Roster roster_ = fake::roster(2, 2);
  Van van_{fake::scripted_transport(wire_), clock_};
  ShardLinks links_{van_};
  Tensors tensors_;
  std::vector<std::string> asked_;
  std::vector<LinkId> opened_;
  std::vector<std::uint32_t> named_;
  Declarations declarations_{
      config_,
      clock_,
      links_,
      tensors_,
      {.tell_scheduler =
           [this](const control::Declare& asked) { asked_.push_back(asked.spec.name); },
       .tell_shard = [this](LinkId link, const control::Open&) { opened_.push_back(link); },
       .named = [this](std::uint32_t id, const std::string&) { named_.push_back(id); },
       .settle = [](TensorSpec spec, const std::vector<Rank>&) { return spec; },
       .fits = [](const TensorSpec&) { return Status(); },
       .join_workers = [this](const TensorState&, const Roster&,
                              const std::vector<Rank>&) { return among_workers_; }}};
  Status among_workers_;
  std::vector<Status> results_;
  std::vector<std::uint32_t> ids_;
};

TEST_F(DeclarationsTest, AskOnceForEachNameAndOpenAtTheOwner) {
  declare("grads");
  declare("grads");
  EXPECT_THAT(asked_, ElementsAre("grads"));
  EXPECT_FALSE(declarations_.idle());
  answer("grads", 4, 51);
  EXPECT_THAT(ids_, ElementsAre(4, 4));
  EXPECT_THAT(opened_, ElementsAre(2));
  EXPECT_THAT(named_, ElementsAre(4));
  EXPECT_THAT(tensors_.links_of(4), ElementsAre(2));
  EXPECT_TRUE(declarations_.idle());
  declare("grads");
  EXPECT_THAT(ids_, ElementsAre(4, 4, 4)) << "it is known";
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(DeclarationsTest, OneNameMeansOneThing) {
  declare("grads");
  declare("grads", Dtype::kF64);
  ASSERT_EQ(results_.size(), 1U);
  EXPECT_EQ(results_[0].code(), Code::kMismatch);
}

TEST_F(DeclarationsTest, AnAnswerThatMakesNoSenseIsMalformed) {
  declare("a");
  answer("a", 4, 99);
  declare("b");
  answer("b", 5);
  declare("c");
  answer("c", 5);
  ASSERT_EQ(results_.size(), 3U);
  EXPECT_THAT(results_[0].cause(), HasSubstr("named no owner"));
  EXPECT_TRUE(results_[1].ok());
  EXPECT_THAT(results_[2].cause(), HasSubstr("which is another's"));
  answer("never asked", 6);
  EXPECT_EQ(tensors_.find(6), nullptr);
}

TEST_F(DeclarationsTest, EachEndsInTimeOrWithTheJobOrWithItsRefusal) {
  declare("late");
  EXPECT_EQ(declarations_.next_due(), clock_.now() + config_.operation_timeout);
  declarations_.tick();
  EXPECT_TRUE(results_.empty());
  clock_.advance_to(declarations_.next_due());
  declarations_.tick();
  declare("refused");
  declarations_.on_refused("refused", {Code::kMismatch, "worker 1 says f64"});
  declare("ended");
  declarations_.end_all({Code::kPeerLost, "gone"});
  ASSERT_EQ(results_.size(), 3U);
  EXPECT_EQ(results_[0].code(), Code::kTimeout);
  EXPECT_EQ(results_[1].code(), Code::kMismatch);
  EXPECT_EQ(results_[2].code(), Code::kPeerLost);
  EXPECT_EQ(results_[2].operation(), "declare");
  EXPECT_EQ(declarations_.next_due(), Time::max());
}

}  // namespace
}  // namespace stretto
