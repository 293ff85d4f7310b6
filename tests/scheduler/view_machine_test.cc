// SPDX-License-Identifier: Apache-2.0
// Views: the effect of each event. For random events the invariants hold, and a replay of the
// journal gives the same views.
#include "scheduler/membership/view_machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/common/effort.h"
#include "tests/sim/random.h"
#include "tests/van/far_end.h"

namespace stretto {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kBytesOfPart = 64;

Join worker_joins(std::int64_t rank = -1) {
  return {.rank = rank, .workers = 2, .servers = 2, .host = "w:1"};
}

Join server_joins(std::int64_t rank) {
  return {.role = Role::kServer,
          .rank = rank,
          .shards = 1,
          .servers = 2,
          .host = fmt::format("s:{}", rank),
          .address = "s:7000"};
}

Config two_and_two() {
  Config config = fake::config(Role::kScheduler, -1);
  config.servers = 2;
  return config;
}

class ViewMachineTest : public testing::Test {
 protected:
  std::vector<ViewOrder> on(const ViewEvent& event) { return machine_->on(event, now_); }
  /// The last order of type T; null if there is none.
  template <typename T>
  static const T* only(const std::vector<ViewOrder>& orders) {
    const T* found = nullptr;
    for (const ViewOrder& order : orders) {
      if (const T* it = std::get_if<T>(&order)) found = it;
    }
    return found;
  }
  NodeId come(const Join& join) {
    const auto orders = on(join);
    const Admit* admit = only<Admit>(orders);
    return admit == nullptr ? 0 : admit->member.node;
  }
  void gather(Sizing sizing) {
    machine_.emplace(config_, now_, sizing);
    servers_ = {come(server_joins(0)), come(server_joins(1))};
    workers_ = {come(worker_joins(0)), come(worker_joins(1))};
    ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  }
  NewTensor tensor(std::uint64_t parts) {
    return {Cut(fake::spec("x", Dtype::kU8, parts * kBytesOfPart), kBytesOfPart)};
  }
  const View& view() const { return machine_->view(); }

  Config config_ = two_and_two();
  Time now_ = Time(1s);
  std::optional<ViewMachine> machine_;
  std::vector<NodeId> servers_;
  std::vector<NodeId> workers_;
};

TEST_F(ViewMachineTest, TheFirstViewIsPublishedWhenAllAreThere) {
  machine_.emplace(config_, now_);
  come(server_joins(0));
  come(server_joins(1));
  come(worker_joins(1));
  EXPECT_EQ(view().epoch, 0U);
  const auto orders = on(worker_joins(0));
  ASSERT_EQ(orders.size(), 2U);
  EXPECT_EQ(std::get<Admit>(orders[0]).member.rank, 0U);
  EXPECT_EQ(std::get<Publish>(orders[1]).changed.size(), 4U);
  EXPECT_EQ(view().epoch, 1U);
  EXPECT_EQ(view().fence, 1U);
  EXPECT_EQ(view().members.size(), 4U);
  EXPECT_EQ(view().contributors.nodes.size(), 2U);
  EXPECT_EQ(view().slots.size(), kSlots);
}

TEST_F(ViewMachineTest, ServerlessJobHasNoSlotsAndEndsWithWorkers) {
  config_.servers = 0;
  machine_.emplace(config_, now_);
  for (const Rank rank : {0U, 1U}) {
    Join join = worker_joins(rank);
    join.servers = 0;
    workers_.push_back(come(join));
  }
  ASSERT_EQ(machine_->phase(), ViewMachine::Phase::kRunning);
  EXPECT_EQ(view().slots.size(), 0U);
  const auto refused = on(tensor(3));
  ASSERT_NE(only<Refuse>(refused), nullptr);
  EXPECT_THAT(only<Refuse>(refused)->why.cause(), HasSubstr("no server is there"));
  on(Left{.node = workers_[0]});
  EXPECT_NE(only<Publish>(on(EndOfTurn{})), nullptr);
  EXPECT_NE(only<DismissMembers>(on(Left{.node = workers_[1]})), nullptr);
  for (const NodeId node : workers_) on(Disconnected{.node = node});
  EXPECT_NE(only<CloseJob>(on(EndOfTurn{})), nullptr);
  EXPECT_TRUE(machine_->status().ok());
}

TEST_F(ViewMachineTest, RefusalStatesReason) {
  gather(Sizing::kFixed);
  const auto orders = on(worker_joins());
  ASSERT_NE(only<Refuse>(orders), nullptr);
  EXPECT_EQ(only<Refuse>(orders)->why.cause(), "w:1 asks to be a worker, and all 2 have come");
}

TEST_F(ViewMachineTest, TimeoutNamesMissingMembers) {
  machine_.emplace(config_, now_);
  come(server_joins(1));
  now_ += config_.rendezvous_timeout;
  const auto orders = on(Tick{});
  EXPECT_THAT(only<EndJob>(orders)->why.cause(), HasSubstr("missing: server 0, worker 0"));
  EXPECT_EQ(machine_->phase(), ViewMachine::Phase::kFailing);
  on(Disconnected{.node = 2});
  EXPECT_NE(only<CloseJob>(on(EndOfTurn{})), nullptr) << "nobody is left to be told";
}

TEST_F(ViewMachineTest, DeparturesOfATurnMakeOneView) {
  config_.workers = 3;
  machine_.emplace(config_, now_);
  std::vector<NodeId> workers;
  for (std::int64_t rank : {0, 1}) come(server_joins(rank));
  for (std::int64_t rank : {0, 1, 2}) {
    Join join = worker_joins(rank);
    join.workers = 3;
    workers.push_back(come(join));
  }
  EXPECT_TRUE(on(Left{.node = workers[0]}).empty());
  EXPECT_TRUE(on(Left{.node = workers[2]}).empty());
  EXPECT_TRUE(machine_->next_view().find(workers[0])->left);
  EXPECT_FALSE(view().find(workers[0])->left) << "not published yet";
  const auto orders = on(EndOfTurn{});
  EXPECT_EQ(only<Publish>(orders)->changed.size(), 2U);
  EXPECT_EQ(only<Publish>(orders)->since, 1U);
  EXPECT_EQ(view().epoch, 2U);
  EXPECT_EQ(view().fence, 1U) << "their last frames are still good";
  EXPECT_NE(only<DismissMembers>(on(Left{.node = workers[1]})), nullptr);
}

TEST_F(ViewMachineTest, InAJobOfFixedSizeALossEndsItAndIsNamed) {
  gather(Sizing::kFixed);
  const auto orders = on(Lost{.node = workers_[1], .cause = "silent"});
  ASSERT_NE(only<EndJob>(orders), nullptr);
  EXPECT_EQ(only<EndJob>(orders)->why.cause(), "worker 1 is lost: silent");
  EXPECT_EQ(machine_->status().peer(), "worker 1");
  EXPECT_TRUE(on(Lost{.node = servers_[0]}).empty()) << "the first cause counts";
}

TEST_F(ViewMachineTest, ASuspicionWaitsForItsCause) {
  gather(Sizing::kFixed);
  on(Suspicion{.reporter = workers_[0], .subject = servers_[1], .cause = "reset"});
  now_ += 1900ms;
  EXPECT_TRUE(on(Tick{}).empty());
  now_ += 100ms;
  EXPECT_EQ(only<EndJob>(on(Tick{}))->why.cause(),
            "worker 0 lost its link to server 1, though both are alive: reset");
}

// The wait for a reconnect is proportional to dead_after: 4.5 s of 30.
TEST_F(ViewMachineTest, LongerDeadAfterExtendsWaitForCause) {
  config_.job.dead_after = 30s;
  gather(Sizing::kFixed);
  on(Suspicion{.reporter = workers_[0], .subject = servers_[1], .cause = "reset"});
  now_ += 4500ms;
  EXPECT_TRUE(on(Tick{}).empty());
  EXPECT_EQ(only<EndJob>(on(Disconnected{.node = servers_[1], .cause = "its link has ended"}))
                ->why.code(),
            Code::kServerLost);
}

TEST_F(ViewMachineTest, SignsOfLifeFromBothEndWaitForCause) {
  gather(Sizing::kFixed);
  on(Suspicion{.reporter = workers_[0], .subject = servers_[1], .cause = "reset"});
  on(Alive{servers_[1]});  // Sent before the link broke.
  now_ += 200ms;
  on(Alive{workers_[0]});
  on(Alive{servers_[0]});
  EXPECT_TRUE(on(Tick{}).empty()) << "one of the two has yet to";
  on(Alive{servers_[1]});
  EXPECT_NE(only<EndJob>(on(Tick{})), nullptr);
}

TEST_F(ViewMachineTest, ElasticJobContinuesWithoutLostWorker) {
  gather(Sizing::kElastic);
  EXPECT_TRUE(on(Disconnected{.node = workers_[0], .cause = "reset", .round = 7}).empty());
  on(EndOfTurn{});
  EXPECT_EQ(view().epoch, 2U);
  EXPECT_EQ(view().fence, 1U) << "the others' frames that are on their way are good";
  EXPECT_EQ(view().find(workers_[0]), nullptr);
  EXPECT_EQ(view().find(workers_[1])->rank, 0U) << "rank 0 exists while workers do";
  EXPECT_EQ(view().find(workers_[1])->describe(), "worker 1") << "and is named as before";
  EXPECT_EQ(view().contributors.from_round, 7U);
  EXPECT_THAT(view().contributors.nodes, ElementsAre(workers_[1]));
  EXPECT_NE(only<EndJob>(on(Lost{.node = workers_[1]})), nullptr) << "the last one ends it";
}

TEST_F(ViewMachineTest, TooFewWorkersEndJobUnlessOthersFinished) {
  config_.job.min_workers = 2;
  gather(Sizing::kWorkers);
  EXPECT_EQ(only<EndJob>(on(Lost{.node = workers_[1], .cause = "reset"}))->why.cause(),
            "worker 1 is lost: reset; the job may not go on with fewer than 2 workers");
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  on(Left{.node = workers_[0]});
  on(EndOfTurn{});
  const auto last = on(Lost{.node = workers_[1], .cause = "reset"});
  EXPECT_EQ(only<EndJob>(last), nullptr);
  EXPECT_NE(only<DismissMembers>(last), nullptr) << "who has finished counts";
}

TEST_F(ViewMachineTest, ElasticJobNamesLostWorker) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  on(Lost{.node = workers_[0], .cause = "silent"});
  const std::vector<ViewOrder> orders = on(EndOfTurn{});
  const auto* news = only<Publish>(orders);
  ASSERT_NE(news, nullptr);
  ASSERT_EQ(news->lost.size(), 1U);
  EXPECT_EQ(news->lost[0].node, workers_[0]);
  EXPECT_EQ(news->lost[0].cause, "silent");
}

TEST_F(ViewMachineTest, DefersJoinUntilPlaceIsFree) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  const std::vector<ViewOrder> orders = on(Join{.role = Role::kWorker, .host = "w:9"});
  EXPECT_EQ(only<Refuse>(orders), nullptr);
  ASSERT_NE(only<Defer>(orders), nullptr);
  EXPECT_EQ(only<Defer>(orders)->why.cause().substr(0, 46),
            "w:9 asks to join, and the job has 2 of 2 worke");
  on(Lost{.node = workers_[0], .cause = "silent"});
  on(EndOfTurn{});
  EXPECT_NE(only<Admit>(on(Join{.role = Role::kWorker, .host = "w:9"})), nullptr);
  EXPECT_NE(only<Refuse>(on(Join{.role = Role::kServer, .host = "s:9"})), nullptr);
}

TEST_F(ViewMachineTest, RejoiningWorkerKeepsItsNumber) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  const NodeId first = workers_[0];
  on(Lost{.node = first, .cause = "silent"});
  on(EndOfTurn{});
  const std::vector<ViewOrder> orders =
      on(Join{.role = Role::kWorker, .host = "w:0", .former = first});
  const auto* admitted = only<Admit>(orders);
  ASSERT_NE(admitted, nullptr);
  EXPECT_EQ(admitted->member.number(), 0U);
  EXPECT_EQ(admitted->member.rank, 1U) << "the last one";
  EXPECT_NE(admitted->member.node, first) << "it is another incarnation";
  on(EndOfTurn{});
  EXPECT_TRUE(view().find(admitted->member.node)->joining);
}

TEST_F(ViewMachineTest, InvalidFormerIdMakesNewWorker) {
  config_.job.min_workers = 1;
  gather(Sizing::kWorkers);
  on(Lost{.node = workers_[0], .cause = "silent"});
  on(EndOfTurn{});
  for (const NodeId former : {NodeId{4711}, workers_[1], servers_[0]}) {
    const std::vector<ViewOrder> orders =
        on(Join{.role = Role::kWorker, .host = "w:0", .former = former});
    const auto* admitted = only<Admit>(orders);
    ASSERT_NE(admitted, nullptr);
    EXPECT_GE(admitted->member.number(), 2U);
    on(Lost{.node = admitted->member.node, .cause = "silent"});
  }
  EXPECT_NE(view().find(workers_[1]), nullptr) << "who is in stays in";
}

TEST_F(ViewMachineTest, ALinkThatBrokeCostsAnElasticJobItsWorker) {
  gather(Sizing::kElastic);
  on(Suspicion{.reporter = servers_[0], .subject = workers_[1], .cause = "reset"});
  now_ += 2s;
  EXPECT_EQ(only<EndJob>(on(Tick{})), nullptr);
  on(EndOfTurn{});
  EXPECT_EQ(view().find(workers_[1]), nullptr);
  EXPECT_NE(view().find(workers_[0]), nullptr);
}

TEST_F(ViewMachineTest, NewcomerContributesFromUnstartedRound) {
  gather(Sizing::kElastic);
  Join join = worker_joins();
  join.round = 12;
  const NodeId newcomer = come(join);
  on(EndOfTurn{});
  EXPECT_EQ(view().find(newcomer)->rank, 2U);
  EXPECT_EQ(view().contributors.from_round, 12U);
  EXPECT_EQ(view().contributors.nodes.count(newcomer), 1U);
  EXPECT_EQ(view().fence, 1U);
}

TEST_F(ViewMachineTest, OnlyServerWithTensorsEndsJobOnLoss) {
  gather(Sizing::kElastic);
  on(tensor(1));
  const NodeId used = view().slots.owner(0);
  const NodeId unused = used == servers_[0] ? servers_[1] : servers_[0];
  EXPECT_EQ(only<EndJob>(on(Lost{.node = unused})), nullptr);
  on(EndOfTurn{});
  EXPECT_EQ(view().slots.owners(), std::vector<NodeId>(kSlots, used));
  EXPECT_NE(only<EndJob>(on(Lost{.node = used})), nullptr);
}

TEST_F(ViewMachineTest, SlotsThatMovedAreFenced) {
  gather(Sizing::kFixed);
  on(tensor(4));
  on(Moved{.first = 0, .count = 4, .to = servers_[1]});
  on(EndOfTurn{});
  EXPECT_EQ(view().fence, 2U);
  for (std::uint32_t slot = 0; slot < 4; ++slot) EXPECT_EQ(view().slots.owner(slot), servers_[1]);
  for (const Moved& wrong : {Moved{.first = 0, .count = 1, .to = workers_[0]},
                             Moved{.first = kSlots - 1, .count = 2, .to = servers_[0]},
                             Moved{.first = 1, .count = ~0U, .to = servers_[0]}}) {
    EXPECT_NE(only<Refuse>(on(wrong)), nullptr);
  }
}

TEST_F(ViewMachineTest, DrainedWorkerStopsThenIsLostAtDeadline) {
  gather(Sizing::kElastic);
  on(DrainNotice{.node = workers_[0], .deadline = now_ + 5s, .round = 4});
  on(EndOfTurn{});
  EXPECT_THAT(view().contributors.nodes, ElementsAre(workers_[1]));
  EXPECT_NE(view().find(workers_[0]), nullptr) << "it is in until it leaves";
  EXPECT_EQ(machine_->next_due(), now_ + 5s);
  now_ += 5s;
  on(Tick{});
  on(EndOfTurn{});
  EXPECT_EQ(view().find(workers_[0]), nullptr);
}

// ---- random events

/// A random sequence of events, about existing and unknown nodes.
class Events {
 public:
  explicit Events(std::uint64_t seed) : random_(seed) {}

  ViewEvent next(const ViewMachine& machine, Time now) {
    round_ += random_.below(3);
    const NodeId node = some(machine);
    switch (random_.below(24)) {
      case 0:
        return Left{.node = node, .round = round_};
      case 1:
        return Disconnected{.node = node, .cause = "gone", .round = round_};
      case 2:
        return Lost{.node = node, .cause = "silent", .round = round_};
      case 3:
        return DrainNotice{
            .node = node, .deadline = now + random_.between(0s, 3s), .round = round_};
      case 4:
        return random_.chance(0.1) ? ViewEvent(Suspicion{node, some(machine), "reset"})
                                   : EndOfTurn{};
      case 5:
        return random_.chance(0.02) ? ViewEvent(Stop{{Code::kInterrupted, "stop"}}) : EndOfTurn{};
      case 6:
      case 7:
        return Moved{static_cast<std::uint32_t>(random_.below(kSlots + 2)),
                     static_cast<std::uint32_t>(random_.below(64)), node};
      case 8:
      case 9:
        return NewTensor{
            Cut(fake::spec("x", Dtype::kU8, random_.below(random_.chance(0.02) ? 300'000 : 600)),
                kBytesOfPart)};
      case 10:
      case 11:
      case 12:
        return Tick{};
      case 13:
      case 14:
      case 15:
      case 16:
        return EndOfTurn{};
      default:
        return join();
    }
  }
  Duration pause() { return random_.between(0ms, 200ms); }

 private:
  ViewEvent join() {
    if (random_.chance(0.4)) {
      Join join = server_joins(static_cast<std::int64_t>(random_.below(4)) - 1);
      if (random_.chance(0.1)) join.address = "nowhere";
      join.host = fmt::format("s:{}", random_.below(5));
      return join;
    }
    Join join = worker_joins(static_cast<std::int64_t>(random_.below(5)) - 2);
    join.round = round_;
    if (random_.chance(0.1)) join.workers = static_cast<std::uint32_t>(random_.below(4));
    return join;
  }
  NodeId some(const ViewMachine& machine) {
    const auto& members = machine.next_view().members;
    if (members.empty() || random_.chance(0.1)) return static_cast<NodeId>(random_.below(40));
    return std::next(members.begin(), static_cast<long>(random_.below(members.size())))->first;
  }

  sim::Random random_;
  std::uint64_t round_ = 1;
};

/// A machine whose invariants are checked after each event, and the views it published.
class CheckedMachine {
 public:
  CheckedMachine(const Config& config, Sizing sizing) : machine_(config, Time(1s), sizing) {}

  std::vector<ViewOrder> on(const ViewEvent& event, Time now) {
    const View before = machine_.view();
    std::vector<ViewOrder> orders = machine_.on(event, now);
    const View& after = machine_.view();
    EXPECT_EQ(violation(after), "");
    EXPECT_EQ(violation(machine_.next_view()), "");
    if (after.epoch != before.epoch) {
      EXPECT_EQ(violation(before, after), "");
      published_.push_back(after);
    }
    return orders;
  }
  const ViewMachine& machine() const { return machine_; }
  const std::vector<View>& published() const { return published_; }

 private:
  ViewMachine machine_;
  std::vector<View> published_;
};

bool same(const View& a, const View& b) {
  const auto describe = [](const View& view) {
    std::string text;
    for (const auto& [node, member] : view.members) {
      text += fmt::format("{} {} {} {},", node, member.describe(), member.address, member.left);
    }
    return text;
  };
  return a.epoch == b.epoch && a.fence == b.fence && a.slots == b.slots &&
         a.contributors == b.contributors && describe(a) == describe(b);
}

class RandomEvents : public testing::TestWithParam<Sizing> {};

TEST_P(RandomEvents, KeepTheInvariantsAndReplayToTheSameViews) {
  const Config config = two_and_two();
  std::size_t views = 0;
  std::size_t most_members = 0;
  for (std::uint64_t seed = 1; seed <= repeated(std::uint64_t{100}); ++seed) {
    SCOPED_TRACE(seed);
    Events events(seed);
    CheckedMachine checked(config, GetParam());
    std::vector<std::pair<ViewEvent, Time>> journal;
    Time now(1s);
    for (int i = 0; i < 150; ++i) {
      now += events.pause();
      const ViewEvent event = events.next(checked.machine(), now);
      const bool passing =
          std::holds_alternative<EndOfTurn>(event) || std::holds_alternative<Tick>(event);
      if (!checked.on(event, now).empty() || !passing) journal.emplace_back(event, now);
      most_members = std::max(most_members, checked.machine().view().members.size());
      if (testing::Test::HasFailure()) return;
    }
    CheckedMachine again(config, GetParam());
    for (const auto& [event, at] : journal) again.on(event, at);
    ASSERT_EQ(again.published().size(), checked.published().size());
    for (std::size_t i = 0; i < checked.published().size(); ++i) {
      ASSERT_TRUE(same(again.published()[i], checked.published()[i])) << "view " << i + 1;
    }
    EXPECT_TRUE(same(again.machine().view(), checked.machine().view()));
    EXPECT_EQ(again.machine().phase(), checked.machine().phase());
    views += checked.published().size();
  }
  EXPECT_GT(views, repeated(100U)) << "the events reach what they are to test";
  EXPECT_GE(most_members, GetParam() == Sizing::kElastic ? 7U : 4U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, RandomEvents, testing::Values(Sizing::kFixed, Sizing::kElastic),
                         [](const auto& each) {
                           return each.param == Sizing::kFixed ? "Fixed" : "Elastic";
                         });

}  // namespace
}  // namespace stretto
