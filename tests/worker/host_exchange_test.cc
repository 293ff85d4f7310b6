// SPDX-License-Identifier: Apache-2.0
// Tensors whose members share a host, over real links: sums, equal bits, many parts and rounds in
// flight, paused or conflicting callers, and members that leave.
#include "worker/host_path/host_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <latch>

#include "stretto/group.h"
#include "tests/worker/live_cluster.h"
#include "tests/worker/whole_numbers.h"

namespace stretto {
namespace {

using live::Cluster;
using live::Floats;
using live::numbers;
using live::sum_of;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;

TensorOptions direct() { return {.exchange = Exchange::kDirect}; }

// More parts than may be open at a time, in place and not.
TEST(HostExchange, ManyPartsAndRoundsAreInFlight) {
  Cluster cluster({.workers = 2, .shards = 0, .job = {.part_bytes = 256}});
  cluster.run([](Worker& worker) {
    constexpr int kCallRounds = 30;
    constexpr std::size_t kSize = 2000;
    const Tensor tensor = live::declare(worker, "t", Dtype::kF32, kSize, direct());
    std::vector<Floats> given;
    std::vector<Floats> made(kCallRounds, Floats(kSize));
    std::vector<Ticket> tickets;
    for (int round = 0; round < kCallRounds; ++round) {
      given.push_back(numbers(kSize, worker.rank(), round));
    }
    for (std::size_t round = 0; round < kCallRounds; ++round) {
      Floats& target = round % 2 == 0 ? made[round] : given[round];
      tickets.push_back(
          worker.push_pull(tensor, std::span<const float>(given[round]), std::span(target)));
    }
    for (std::size_t round = 0; round < kCallRounds; ++round) {
      ASSERT_TRUE(tickets[round].wait().ok()) << tickets[round].wait().text();
      EXPECT_EQ(tickets[round].info().version, round + 1);
      ASSERT_EQ(round % 2 == 0 ? made[round] : given[round],
                sum_of(kSize, 2, static_cast<int>(round)));
    }
  });
}

// A late member finds the round that its peer has begun, and joins it.
TEST(HostExchange, LateMemberTakesEarlierContributions) {
  Cluster cluster({.workers = 2, .shards = 0, .job = {.part_bytes = 64}});
  std::latch begun(1);
  cluster.run([&begun](Worker& worker) {
    const Tensor one = live::declare(worker, "one", Dtype::kF32, 1000, direct());
    const Tensor two = live::declare(worker, "two", Dtype::kF32, 1000, direct());
    const Floats mine(1000, 1.0F);
    Floats first(1000);
    Floats second(1000);
    const bool late = worker.rank() == 1;
    if (late) begun.wait();
    const Ticket a = worker.push_pull(late ? two : one, std::span(mine), std::span(first));
    const Ticket b = worker.push_pull(late ? one : two, std::span(mine), std::span(second));
    if (!late) begun.count_down();
    ASSERT_TRUE(a.wait().ok()) << a.wait().text();
    ASSERT_TRUE(b.wait().ok()) << b.wait().text();
    EXPECT_THAT(first, Each(2.0F));
    EXPECT_THAT(second, Each(2.0F));
  });
}

// If the operand order affects bits, all members use the same order.
TEST(HostExchange, MembersGetTheSameBits) {
  for (const std::uint32_t workers : {2U, 4U}) {
    for (const Rule rule : {Rule::kSum, Rule::kMin, Rule::kMean}) {
      Cluster cluster({.workers = workers, .shards = 0, .job = {.part_bytes = 256}});
      std::vector<std::vector<std::uint32_t>> made(workers);
      cluster.run([&made, rule](Worker& worker) {
        const Tensor tensor =
            live::declare(worker, "t", Dtype::kF32, 1000,
                          {.update = {.rule = rule}, .exchange = Exchange::kDirect});
        Floats data(1000);
        for (std::size_t i = 0; i < data.size(); ++i) {
          data[i] = i % 5 == 0 ? (worker.rank() % 2 == 0 ? 0.0F : -0.0F)
                               : 1.0F / static_cast<float>(i + 3 * worker.rank() + 1);
        }
        const Ticket ticket =
            worker.push_pull(tensor, std::span<const float>(data), std::span(data));
        ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
        std::vector<std::uint32_t> bits(data.size());
        std::memcpy(bits.data(), data.data(), 4 * bits.size());
        made[worker.rank()] = bits;
      });
      EXPECT_THAT(made, Each(made.front())) << static_cast<int>(rule);
    }
  }
}

TEST(HostExchange, ABroadcastReachesAllFromEachRoot) {
  for (const std::uint32_t workers : {2U, 4U}) {
    Cluster cluster({.workers = workers, .shards = 0, .job = {.part_bytes = 256}});
    cluster.run([workers](Worker& worker) {
      const Tensor tensor = live::declare(worker, "t", Dtype::kF32, 700, direct());
      for (Rank root = 0; root < workers; ++root) {
        Floats value = numbers(700, worker.rank(), 7);
        const Status status = worker.broadcast(tensor, std::span(value), root).wait();
        ASSERT_TRUE(status.ok()) << status.text();
        ASSERT_EQ(value, numbers(700, root, 7));
      }
    });
  }
}

TEST(HostExchange, APausedCallWaitsAtBothMembers) {
  Cluster cluster({.workers = 2, .shards = 0, .job = {.part_bytes = 64}});
  std::latch paused(2);
  std::latch looked(2);
  cluster.run([&](Worker& worker) {
    const Tensor tensor = live::declare(worker, "t", Dtype::kF32, 1000, direct());
    const Floats mine(1000, 1.0F);
    Floats sum(1000);
    if (worker.rank() == 1) paused.arrive_and_wait();
    const Ticket ticket = worker.push_pull(tensor, std::span(mine), std::span(sum));
    if (worker.rank() == 0) {
      ticket.pause();
      paused.arrive_and_wait();
    }
    (void)ticket.wait_for(std::chrono::milliseconds(50));
    looked.arrive_and_wait();
    if (worker.rank() == 0) ticket.resume();
    ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
    EXPECT_THAT(sum, Each(2.0F));
  });
}

TEST(HostExchange, MembersThatDisagreeAreNamed) {
  Cluster cluster({.workers = 2, .shards = 0});
  cluster.run([](Worker& worker) {
    const Tensor tensor = live::declare(worker, "t", Dtype::kF32, 100, direct());
    ASSERT_TRUE(worker.barrier().ok()) << "who is told leaves, and all are to have declared";
    Floats mine(100);
    const Ticket ticket =
        worker.rank() == 1
            ? worker.broadcast(tensor, std::span(mine), 1)
            : worker.push_pull(tensor, std::span<const float>(mine), std::span(mine));
    const Status status = ticket.wait();
    EXPECT_EQ(status.code(), Code::kMismatch) << status.text();
    EXPECT_THAT(status.text(), AllOf(HasSubstr("broadcast from worker 1"), HasSubstr("push_pull"),
                                     HasSubstr("'t'")));
  });
}

TEST(HostExchange, AMemberThatLeavesIsNamed) {
  Cluster cluster({.workers = 2, .shards = 0, .job = {.part_bytes = 64}});
  cluster.run([](Worker& worker) {
    const Tensor tensor = live::declare(worker, "t", Dtype::kF32, 1000, direct());
    const Floats mine(1000, 1.0F);
    Floats sum(1000);
    ASSERT_TRUE(worker.push_pull(tensor, std::span(mine), std::span(sum)).wait().ok());
    EXPECT_THAT(sum, Each(2.0F));
    if (worker.rank() == 1) return;  // It leaves.
    const Status status = worker.push_pull(tensor, std::span(mine), std::span(sum)).wait();
    EXPECT_EQ(status.code(), Code::kPeerLost) << status.text();
    EXPECT_THAT(status.text(), HasSubstr("worker 1"));
  });
}

// Group calls with more parts than may be open at a time.
TEST(HostExchange, CallsOfAGroupGoToAllMembers) {
  Cluster cluster({.workers = 2, .shards = 0, .job = {.part_bytes = 256}});
  cluster.run([](Worker& worker) {
    Group group = Group::of(worker).or_exit();
    constexpr std::size_t kSize = 3000;
    std::vector<Floats> data;
    std::vector<Ticket> tickets;
    for (int call = 0; call < 20; ++call) data.push_back(numbers(kSize, worker.rank(), call));
    for (std::size_t call = 0; call < data.size(); ++call) {
      const auto bytes = std::as_writable_bytes(std::span(data[call]));
      tickets.push_back(call % 3 == 2 ? group.broadcast(bytes, call % 2)
                                      : group.all_reduce(Dtype::kF32, bytes, bytes));
    }
    for (std::size_t call = 0; call < data.size(); ++call) {
      ASSERT_TRUE(tickets[call].wait().ok()) << tickets[call].wait().text();
      const auto number = static_cast<int>(call);
      ASSERT_EQ(data[call],
                call % 3 == 2 ? numbers(kSize, call % 2, number) : sum_of(kSize, 2, number));
    }
  });
}

}  // namespace
}  // namespace stretto
