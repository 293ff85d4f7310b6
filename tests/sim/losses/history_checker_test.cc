// SPDX-License-Identifier: Apache-2.0
// Each rule of the second oracle, tested with a history that breaks only this rule.
#include "tests/sim/losses/history_checker.h"

#include <gtest/gtest.h>

namespace stretto::sim {
namespace {

class HistoryCheckerTest : public testing::Test {
 protected:
  /// Two workers: a round of a sync tensor, two pushes of an async tensor, and a barrier.
  HistoryCheckerTest() {
    history_.tensors = {tensor("rounds", Mode::kSync), tensor("grows", Mode::kAsync)};
    history_.workers = 2;
    history_.min_workers = 1;
    history_.part_elements = 2;
    history_.call_limit = 50s;
    history_.job = {.at = at(90ms), .ok = true};
    for (std::uint32_t worker = 0; worker < 2; ++worker) {
      push_pull(worker, 0, 1, worker + 1, {3, 3}).contributors = 2;
    }
    push_pull(0, 1, 1, 1, {1, 1});
    push_pull(1, 1, 1, 100, {101, 101}).begun = at(30ms);
    for (std::uint32_t worker = 0; worker < 2; ++worker) {
      history_.barriers.push_back(
          {.worker = worker, .number = 1, .begun = at(60ms), .end = {.at = at(70ms), .ok = true}});
      history_.places.push_back({.worker = worker, .epoch = 1, .rank = worker, .numbers = {0, 1}});
      history_.ends[worker] = {.at = at(80ms), .ok = true};
    }
  }
  static Time at(Duration time) { return Time() + 1h + time; }
  static TensorSpec tensor(const char* name, Mode mode) {
    TensorSpec spec{.name = name, .dtype = Dtype::kI64, .elements = 2, .options = {}};
    spec.options.mode = mode;
    return spec;
  }
  History::Call& push_pull(std::uint32_t worker, std::size_t tensor, std::uint64_t round,
                           std::int64_t sent, std::vector<std::int64_t> got) {
    history_.calls.push_back({.worker = worker,
                              .tensor = tensor,
                              .round = round,
                              .begun = at(10ms),
                              .pushes = true,
                              .pulls = true,
                              .sent = {sent, sent},
                              .got = std::move(got),
                              .end = {.at = at(20ms + tensor * 20ms), .ok = true}});
    return history_.calls.back();
  }
  void lose(std::uint32_t worker, Time when) {
    history_.lost[worker] = when;
    history_.ends.erase(worker);
  }
  /// The broken rule; "" if none is.
  std::string broken() {
    const auto found = HistoryChecker(history_).check();
    return found ? found->invariant.substr(std::string("history: ").size()) : "";
  }

  History history_;
};

TEST_F(HistoryCheckerTest, AGoodHistoryBreaksNothing) { EXPECT_EQ(broken(), ""); }

TEST_F(HistoryCheckerTest, AValueThatIsNoSum) {
  history_.calls[0].got = history_.calls[1].got = {4, 4};
  EXPECT_EQ(broken(), "values are sums of what was sent");
}

TEST_F(HistoryCheckerTest, APushThatCountsTwice) {
  history_.calls[3].got = {102, 102};
  EXPECT_EQ(broken(), "values are sums of what was sent");
}

TEST_F(HistoryCheckerTest, RejectsRoundMissingLiveWorker) {
  for (History::Call* call : {&history_.calls[0], &history_.calls[1]}) {
    call->got = {1, 1};
    call->contributors = 1;
  }
  EXPECT_EQ(broken(), "a round is of all who are in");
}

TEST_F(HistoryCheckerTest, AcceptsRoundMissingLostWorker) {
  lose(1, at(15ms));
  history_.calls[0].got = {1, 1};
  history_.calls[0].contributors = 1;
  for (std::size_t call : {1U, 3U}) history_.calls[call].end = {};
  history_.barriers[1].end = {};
  EXPECT_EQ(broken(), "");
}

TEST_F(HistoryCheckerTest, HalfAPart) {
  lose(1, at(15ms));
  history_.calls[0].got = {3, 1};
  history_.calls[0].contributors = 1;
  history_.calls[1].end = {};
  EXPECT_EQ(broken(), "a part is made by the same workers");
}

TEST_F(HistoryCheckerTest, OthersHaveOtherBytes) {
  lose(1, at(25ms));
  history_.calls[0].got = {1, 1};
  history_.calls[0].contributors = 1;
  history_.calls[0].end.at = at(26ms);
  EXPECT_EQ(broken(), "all get the same bytes");
}

TEST_F(HistoryCheckerTest, WrongContributors) {
  history_.calls[0].contributors = 1;
  EXPECT_EQ(broken(), "contributors are counted");
}

TEST_F(HistoryCheckerTest, AnAcknowledgedPushThatIsNotThere) {
  history_.calls[3].begun = at(41ms);
  history_.calls[3].end.at = at(45ms);
  history_.calls[3].got = {100, 100};
  EXPECT_EQ(broken(), "what was acknowledged is in");
}

TEST_F(HistoryCheckerTest, AValueThatGoesBack) {
  History::Call pull = history_.calls[3];
  history_.calls[3].end = {.at = at(500ms), .ok = true};
  pull.pushes = false;
  pull.sent.clear();
  pull.worker = 0;
  pull.begun = at(45ms);
  pull.end.at = at(50ms);
  history_.calls.push_back(pull);
  pull.begun = at(60ms);
  pull.end.at = at(65ms);
  pull.got = {1, 1};
  history_.calls.push_back(pull);
  EXPECT_EQ(broken(), "values never go back");
}

TEST_F(HistoryCheckerTest, AValueBeyondTheBound) {
  history_.tensors[1].options.mode = Mode::kBounded;
  history_.tensors[1].options.bound = 0;
  EXPECT_EQ(broken(), "no value is older than the bound");
}

TEST_F(HistoryCheckerTest, ACallThatNeverEnds) {
  history_.calls[3].end = {};
  EXPECT_EQ(broken(), "every call ends");
}

TEST_F(HistoryCheckerTest, ACallThatTakesTooLong) {
  history_.calls[3].end.at = at(5s);
  EXPECT_EQ(broken(), "every call ends in time");
  history_.disturbances.push_back({.at = at(1s), .costs = 6500ms});
  EXPECT_EQ(broken(), "");
}

TEST_F(HistoryCheckerTest, AnErrorThatBlamesTheInnocent) {
  history_.job = {.at = at(90ms), .ok = false, .peer = "worker 1", .cause = "worker 1 is lost"};
  EXPECT_EQ(broken(), "errors blame who was hit");
}

TEST_F(HistoryCheckerTest, ErrorMayBlameNewcomerLostBeforeFirstRound) {
  history_.min_workers = 2;
  lose(1, at(75ms));
  history_.lost[2] = at(76ms);  // Replaced worker 1.
  history_.job = {.at = at(90ms), .ok = false, .peer = "worker 2", .cause = "worker 2 is lost"};
  EXPECT_EQ(broken(), "");
}

TEST_F(HistoryCheckerTest, AJobThatEndsThoughEnoughAreLeft) {
  lose(1, at(75ms));
  history_.job = {.at = at(90ms), .ok = false, .peer = "worker 1", .cause = "worker 1 is lost"};
  EXPECT_EQ(broken(), "the job goes on while enough are left");
}

TEST_F(HistoryCheckerTest, RejectsBarrierMissingMember) {
  history_.barriers.pop_back();
  EXPECT_EQ(broken(), "barriers wait for all who are in");
}

TEST_F(HistoryCheckerTest, RanksThatTwoKnowOtherwise) {
  history_.places[1].numbers = {1, 0};
  EXPECT_EQ(broken(), "ranks are agreed on");
}

TEST_F(HistoryCheckerTest, RejectsReturnOfDepartedWorker) {
  history_.places.push_back({.worker = 0, .epoch = 2, .rank = 0, .numbers = {0}});
  history_.places.push_back({.worker = 0, .epoch = 3, .rank = 0, .numbers = {0, 1}});
  EXPECT_EQ(broken(), "who stays keeps its order");
}

TEST_F(HistoryCheckerTest, RejectsNormalLeaveOfLostWorkerAfterWaking) {
  history_.lost[1] = at(10ms);
  history_.asleep = {1};
  history_.ends[1].at = at(15s);
  EXPECT_EQ(broken(), "who is lost hears of it");
}

TEST_F(HistoryCheckerTest, MoreSendersThanThereAre) {
  history_.kept["a shard"].senders = 3;
  EXPECT_EQ(broken(), "memory is bounded");
}

TEST_F(HistoryCheckerTest, ASlotOfTwoShards) {
  history_.owners[7] = {"one", "another"};
  EXPECT_EQ(broken(), "a slot has one owner");
}

}  // namespace
}  // namespace stretto::sim
