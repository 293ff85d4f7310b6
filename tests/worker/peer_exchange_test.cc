// SPDX-License-Identifier: Apache-2.0
// Direct exchange over real sockets and shared memory: sums by each strategy, broadcasts,
// mismatched calls, early leaves, and refusals.
#include "worker/peer_path/peer_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <numeric>

#include "stretto/group.h"
#include "tests/worker/live_cluster.h"
#include "tests/worker/whole_numbers.h"

namespace stretto {
namespace {

using live::Cluster;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

using live::Floats;
using live::numbers;
using live::sum_of;

Tensor declare(Worker& worker, std::string_view name, std::size_t elements,
               const TensorOptions& options) {
  return live::declare(worker, name, Dtype::kF32, elements, options);
}

struct ExchangeCase {
  Exchange exchange;
  std::uint32_t workers;
  TransportChoice transport;
};

class Exchanged : public testing::TestWithParam<ExchangeCase> {
 protected:
  /// Runs the program at each of the case's workers, with parts of `part_bytes` bytes.
  static void run(std::uint32_t part_bytes, const std::function<void(Worker&)>& program) {
    Cluster({.workers = GetParam().workers,
             .shards = 1,
             .job = {.part_bytes = part_bytes},
             .transport = GetParam().transport})
        .run(program);
  }
};

TEST_P(Exchanged, TensorsOfEverySizeAreSummed) {
  const ExchangeCase& param = GetParam();
  run(256, [&param](Worker& worker) {
    for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 1000U}) {
      const Tensor tensor =
          declare(worker, "t" + std::to_string(size), size, {.exchange = param.exchange});
      for (int round = 0; round < 5; ++round) {
        const Floats mine = numbers(size, worker.rank(), round);
        Floats sum(size);
        const Ticket ticket = worker.push_pull(tensor, std::span(mine), std::span(sum));
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
        ASSERT_EQ(sum, sum_of(size, param.workers, round)) << size;
        if (size > 0) {
          EXPECT_EQ(ticket.info().contributors, param.workers);
          EXPECT_EQ(ticket.info().version, static_cast<std::uint64_t>(round + 1));
        }
      }
    }
  });
}

TEST_P(Exchanged, ManyRoundsAreInFlightAtOnceInPlace) {
  const ExchangeCase& param = GetParam();
  run(4096, [&param](Worker& worker) {
    constexpr int kInFlight = 20;
    constexpr std::size_t kSize = 5000;
    const Tensor tensor = declare(worker, "t", kSize, {.exchange = param.exchange});
    std::vector<Floats> all;
    std::vector<Ticket> tickets;
    for (int round = 0; round < kInFlight; ++round) {
      all.push_back(numbers(kSize, worker.rank(), round));
    }
    for (Floats& each : all) {
      tickets.push_back(worker.push_pull(tensor, std::span<const float>(each), std::span(each)));
    }
    for (int round = 0; round < kInFlight; ++round) {
      const auto at = static_cast<std::size_t>(round);
      ASSERT_TRUE(tickets[at].wait().ok()) << tickets[at].wait().text();
      ASSERT_EQ(all[at], sum_of(kSize, param.workers, round));
    }
  });
}

TEST_P(Exchanged, ABroadcastBringsItsRootsBytesToAll) {
  const ExchangeCase& param = GetParam();
  run(256, [&param](Worker& worker) {
    const Tensor tensor =
        declare(worker, "t", 300, {.update = {.rule = Rule::kMean}, .exchange = param.exchange});
    for (Rank root = 0; root < param.workers; ++root) {
      Floats value = numbers(300, worker.rank(), 7);
      const Status status = worker.broadcast(tensor, std::span(value), root).wait();
      ASSERT_TRUE(status.ok()) << status.text();
      ASSERT_EQ(value, numbers(300, root, 7));
    }
  });
}

std::string name_of_case(const testing::TestParamInfo<ExchangeCase>& info) {
  const char* transport = info.param.transport == TransportChoice::kTcp ? "tcp" : "auto";
  return std::string(name_of(info.param.exchange)) + std::to_string(info.param.workers) + transport;
}

INSTANTIATE_TEST_SUITE_P(
    All, Exchanged,
    testing::Values(ExchangeCase{Exchange::kDirect, 1, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kDirect, 2, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kDirect, 3, TransportChoice::kTcp},
                    ExchangeCase{Exchange::kRing, 2, TransportChoice::kTcp},
                    ExchangeCase{Exchange::kRing, 4, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kHalving, 3, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kHalving, 4, TransportChoice::kTcp},
                    ExchangeCase{Exchange::kTree, 5, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kHierarchical, 3, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kAuto, 1, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kAuto, 3, TransportChoice::kAuto},
                    ExchangeCase{Exchange::kAuto, 4, TransportChoice::kTcp}),
    name_of_case);

TEST(PeerExchange, RulesOfARoundAreTheServers) {
  Cluster cluster({.workers = 3, .shards = 1});
  cluster.run([](Worker& worker) {
    const std::pair<Rule, float> wanted[] = {
        {Rule::kMean, 2.0F}, {Rule::kMin, 1.0F}, {Rule::kMax, 3.0F}, {Rule::kProduct, 6.0F}};
    for (const auto& [rule, value] : wanted) {
      const Tensor tensor = declare(worker, name_of(rule), 100,
                                    {.update = {.rule = rule}, .exchange = Exchange::kRing});
      const Floats mine(100, static_cast<float>(worker.rank() + 1));
      Floats made(100);
      ASSERT_TRUE(worker.push_pull(tensor, std::span(mine), std::span(made)).wait().ok());
      EXPECT_THAT(made, Each(value)) << name_of(rule);
    }
  });
}

// Sums in rank order: the bits do not depend on the order of arrival.
TEST(PeerExchange, DeterministicSumsHaveTheSameBitsAtAll) {
  constexpr int kInFlight = 20;
  Cluster cluster({.workers = 4, .shards = 1});
  std::vector<Floats> made(4 * kInFlight);
  cluster.run([&made](Worker& worker) {
    const Tensor tensor =
        declare(worker, "t", 1000, {.deterministic = true, .exchange = Exchange::kDirect});
    Floats mine(1000);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      mine[i] = 1.0F / static_cast<float>(i + 3 * worker.rank() + 1);
    }
    for (int round = 0; round < kInFlight; ++round) {
      Floats sum(1000);
      ASSERT_TRUE(worker.push_pull(tensor, std::span(mine), std::span(sum)).wait().ok());
      made[worker.rank() * kInFlight + static_cast<std::size_t>(round)] = sum;
    }
  });
  EXPECT_THAT(made, Each(made.front()));
}

TEST(PeerExchange, CallsThatDisagreeAreNamedAtAll) {
  Cluster cluster({.workers = 3, .shards = 1});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 100, {.exchange = Exchange::kTree});
    ASSERT_TRUE(worker.barrier().ok()) << "who is told leaves, and all are to have declared";
    Floats mine(100);
    const Ticket ticket =
        worker.rank() == 1
            ? worker.broadcast(tensor, std::span(mine), 2)
            : worker.push_pull(tensor, std::span<const float>(mine), std::span(mine));
    const Status status = ticket.wait();
    EXPECT_EQ(status.code(), Code::kMismatch) << status.text();
    EXPECT_THAT(status.text(), AllOf(HasSubstr("broadcast from worker 2"), HasSubstr("push_pull"),
                                     HasSubstr("worker 1"), HasSubstr("'t'")));
  });
}

// A worker that declares the tensor late is waited for, and no frame to it is lost.
TEST(PeerExchange, RoundAwaitsLateDeclare) {
  Cluster cluster({.workers = 3, .shards = 1});
  std::latch others(2);
  cluster.run([&others](Worker& worker) {
    if (worker.rank() == 0) others.wait();
    const Tensor tensor = declare(worker, "t", 100, {.exchange = Exchange::kDirect});
    const Floats mine(100, 1.0F);
    Floats sum(100);
    const Ticket ticket = worker.push_pull(tensor, std::span(mine), std::span(sum));
    if (worker.rank() != 0) others.count_down();
    ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
    EXPECT_THAT(sum, Each(3.0F));
  });
}

TEST(PeerExchange, RoundMissingDepartedWorkerNamesWorker) {
  Cluster cluster({.workers = 3, .shards = 1});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 100, {.exchange = Exchange::kRing});
    const Floats mine(100, 1.0F);
    Floats sum(100);
    ASSERT_TRUE(worker.push_pull(tensor, std::span(mine), std::span(sum)).wait().ok());
    EXPECT_THAT(sum, Each(3.0F));
    if (worker.rank() == 1) return;  // It leaves.
    const Status status = worker.push_pull(tensor, std::span(mine), std::span(sum)).wait();
    EXPECT_EQ(status.code(), Code::kPeerLost) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("worker 1"));
  });
}

TEST(PeerExchange, UnsupportedUseIsRefusedWithAlternative) {
  Cluster cluster({.workers = 2, .shards = 1});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 10, {.exchange = Exchange::kDirect});
    ASSERT_TRUE(worker.barrier().ok()) << "who is told leaves, and all are to have declared";
    Floats value(10);
    for (const Status& status :
         {worker.push(tensor, std::span<const float>(value)).wait(),
          worker.pull(tensor, std::span(value)).wait(), worker.probe(tensor).wait()}) {
      EXPECT_EQ(status.code(), Code::kInvalidArgument);
      EXPECT_THAT(status.text(), AllOf(HasSubstr("push_pull"), HasSubstr("exchange servers")));
    }
    EXPECT_EQ(worker.sit_out().status().code(), Code::kUnsupported);
    const TensorOptions refused[] = {
        {.mode = Mode::kAsync, .exchange = Exchange::kRing},
        {.update = {.rule = Rule::kSgd}, .exchange = Exchange::kRing},
        {.codec = CodecSpec{.codec = Codec::kOnebit}, .exchange = Exchange::kRing},
        {.exchange = static_cast<Exchange>(9)}};
    for (const TensorOptions& options : refused) {
      EXPECT_EQ(worker.declare("u", Dtype::kF32, 10, options).status().code(),
                Code::kInvalidArgument);
    }
    const TensorOptions mean{.update = {.rule = Rule::kMean}, .exchange = Exchange::kRing};
    EXPECT_THAT(worker.declare("v", Dtype::kF16, 10, mean).status().text(), HasSubstr("f16"));
  });
}

/// The survivors continue without a worker that left.
TEST(PeerExchange, ElasticJobContinuesAfterLeave) {
  Cluster cluster({.workers = 3, .shards = 1, .job = {.part_bytes = 256, .min_workers = 1}});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 200, {.exchange = Exchange::kTree});
    const auto number = static_cast<float>(1 << worker.rank());
    const std::uint32_t mine = worker.rank();
    ASSERT_TRUE(worker.barrier().ok()) << "ranks close up when somebody leaves";
    for (std::uint32_t round = 0; round < 60; ++round) {
      if (mine == round / 20 && mine < 2) return;  // Worker 0 leaves at once, 1 after 20 rounds.
      Floats sum(200, number);
      const Ticket ticket = worker.push_pull(tensor, std::span<const float>(sum), std::span(sum));
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
      const std::uint32_t made = ticket.info().contributors;
      EXPECT_THAT(sum, Each(made == 3 ? 7.0F : made == 2 ? 6.0F : 4.0F)) << round;
      EXPECT_EQ(made, round < 20 ? 2U : 1U);
    }
  });
}

TEST(PeerExchange, ElasticJobRefusesBroadcastAndGroups) {
  Cluster cluster({.workers = 2, .shards = 1, .job = {.min_workers = 1}});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 10, {.exchange = Exchange::kDirect});
    ASSERT_TRUE(worker.barrier().ok()) << "who is told leaves, and all are to have declared";
    Floats value(10);
    const Status status = worker.broadcast(tensor, std::span(value), 0).wait();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.text(), HasSubstr("exchange servers"));
    EXPECT_EQ(Group::of(worker).status().code(), Code::kUnsupported);
  });
}

TEST(PeerExchange, CancellingUnstartedCallSparesOthers) {
  Cluster cluster({.workers = 2, .shards = 1});
  std::latch cancelled(2);
  cluster.run([&cancelled](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 10, {.exchange = Exchange::kDirect});
    const Floats mine(10, 1.0F);
    Floats first(10);
    if (worker.rank() == 1) cancelled.arrive_and_wait();
    const Ticket one = worker.push_pull(tensor, std::span(mine), std::span(first));
    if (worker.rank() == 0) {
      Floats second(10);
      const Ticket two = worker.push_pull(tensor, std::span(mine), std::span(second));
      two.cancel();
      EXPECT_EQ(two.wait().code(), Code::kCancelled);
      cancelled.arrive_and_wait();
    }
    EXPECT_TRUE(one.wait().ok()) << one.wait().text();
    EXPECT_THAT(first, Each(2.0F));
  });
}

// A pause holds only this worker's contribution: complete values still travel to its peers.
TEST(PeerExchange, APauseHoldsBackOnesOwn) {
  Cluster cluster({.workers = 3, .shards = 1, .job = {.part_bytes = 64}});
  cluster.run([](Worker& worker) {
    const Tensor tensor = declare(worker, "t", 1000, {.exchange = Exchange::kDirect});
    const Floats mine(1000, 1.0F);
    for (int round = 0; round < 50; ++round) {
      Floats sum(1000);
      const Ticket ticket = worker.push_pull(tensor, std::span(mine), std::span(sum));
      ticket.pause();
      (void)ticket.wait_for(std::chrono::milliseconds(round % 3));
      ticket.resume();
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
      ASSERT_THAT(sum, Each(3.0F));
    }
  });
}

}  // namespace
}  // namespace stretto
