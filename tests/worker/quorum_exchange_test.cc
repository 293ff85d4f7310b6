// SPDX-License-Identifier: Apache-2.0
// Quorum rounds over real sockets and shared memory: late contributions count once, values are
// equal at all workers, and invalid options are rejected.
#include "worker/peer_path/quorum_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <mutex>
#include <thread>

#include "tests/worker/live_cluster.h"
#include "tests/worker/whole_numbers.h"

namespace stretto {
namespace {

using live::Cluster;
using live::Floats;
using testing::Each;
using testing::HasSubstr;

Tensor declare(Worker& worker, std::size_t elements, const TensorOptions& options) {
  return live::declare(worker, "t", Dtype::kF32, elements, options);
}

// A worker's contribution to each round; a sum shows how often it has each worker's.
float one_of(Rank rank) { return static_cast<float>(1U << (5 * rank)); }
std::uint32_t times(float sum, Rank rank) {
  return static_cast<std::uint32_t>(sum) >> (5 * rank) & 31U;
}

struct Counts {
  std::mutex mutex;
  std::vector<std::vector<Floats>> values;  // By worker, then round.
};

// Worker 0 begins round 20 only after the others have finished round 22. With Late::kOwn
// it begins after 2 s at the latest: three withheld contributions make them wait.
void run_with_one_late(const TensorOptions& options, std::size_t elements, Counts& counts) {
  constexpr std::uint32_t kWorkers = 4;
  constexpr int kRounds = 30;
  counts.values.assign(kWorkers, {});
  std::latch others_through(kWorkers - 1);
  Cluster cluster({.workers = kWorkers, .shards = 1, .job = {.part_bytes = 256}});
  cluster.run([&](Worker& worker) {
    const Rank rank = worker.rank();
    const Tensor tensor = declare(worker, elements, options);
    for (int round = 1; round <= kRounds; ++round) {
      const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(2);
      while (rank == 0 && round == 20 && !others_through.try_wait() &&
             (options.close.late != Late::kOwn || std::chrono::steady_clock::now() < patience)) {
        std::this_thread::yield();
      }
      Floats data(elements, one_of(rank));
      const Ticket ticket = worker.push_pull(tensor, std::span<const float>(data), std::span(data));
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
      EXPECT_EQ(ticket.info().version, static_cast<std::uint64_t>(round));
      if (rank != 0 && round == 22) others_through.count_down();
      const std::scoped_lock lock(counts.mutex);
      counts.values[rank].push_back(std::move(data));
    }
  });
  for (const auto& each : counts.values) ASSERT_EQ(each, counts.values.front());
}

// How often `rank`'s contributions are in an element of the first `rounds` values.
std::uint32_t counted(const Counts& counts, Rank rank, std::size_t element, std::size_t rounds) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < rounds; ++i) sum += times(counts.values[0][i][element], rank);
  return sum;
}

TEST(QuorumExchange, LateContributionCountsOnceInLaterRound) {
  for (const Late late : {Late::kNext, Late::kOwn}) {
    Counts counts;
    run_with_one_late({.exchange = Exchange::kDirect, .close = {.quorum = 3, .late = late}}, 1000,
                      counts);
    for (std::size_t element = 0; element < 1000; element += 63) {
      // Rounds before the scatter is known include all contributions.
      EXPECT_EQ(times(counts.values[0][0][element], 0), 1U);
      // On a busy machine it may have withheld three contributions before.
      const std::uint32_t most = late == Late::kNext ? 0U : 4U;
      EXPECT_LE(times(counts.values[0][20][element], 0), most);
      for (Rank rank = 0; rank < 4; ++rank) {
        EXPECT_GE(counted(counts, rank, element, 30), 27U) << name_of(late) << rank;
        EXPECT_LE(counted(counts, rank, element, 30), 30U) << name_of(late) << rank;
      }
      EXPECT_GE(counted(counts, 0, element, 28), 25U) << "what was late has come";
    }
  }
}

TEST(QuorumExchange, DroppedContributionIsNotCounted) {
  Counts counts;
  run_with_one_late({.exchange = Exchange::kDirect, .close = {.quorum = 3, .late = Late::kDrop}},
                    200, counts);
  for (std::size_t round = 0; round < 30; ++round) {
    for (Rank rank = 0; rank < 4; ++rank) EXPECT_LE(times(counts.values[0][round][0], rank), 1U);
  }
  EXPECT_LE(counted(counts, 0, 0, 30), 27U);
}

TEST(QuorumExchange, MeanCoversArrivedContributions) {
  std::latch others_through(3);
  Cluster cluster({.workers = 4, .shards = 1});
  cluster.run([&](Worker& worker) {
    const Tensor tensor = declare(worker, 10,
                                  {.update = {.rule = Rule::kMean},
                                   .exchange = Exchange::kDirect,
                                   .close = {.quorum = 3, .late = Late::kDrop}});
    for (int round = 1; round <= 20; ++round) {
      if (worker.rank() == 3 && round == 20) others_through.wait();
      const Floats mine(10, 6.0F);
      Floats mean(10);
      const Ticket ticket = worker.push_pull(tensor, std::span(mine), std::span(mean));
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
      EXPECT_THAT(mean, Each(6.0F));
      EXPECT_GE(ticket.info().contributors, 3U);
      if (worker.rank() != 3 && round == 20) {
        EXPECT_EQ(ticket.info().contributors, 3U);
        others_through.count_down();
      }
    }
  });
}

TEST(QuorumExchange, OfBackupsOneCountsForBoth) {
  std::latch others_through(3);
  Cluster cluster({.workers = 4, .shards = 1});
  cluster.run([&](Worker& worker) {
    // Workers 0 and 2 have the same data, and so do 1 and 3.
    const Tensor tensor =
        declare(worker, 100, {.exchange = Exchange::kDirect, .close = {.backups = 1}});
    for (int round = 1; round <= 3; ++round) {
      if (worker.rank() == 2) others_through.wait();  // Late from the first round on.
      const auto value = static_cast<float>(round * 10) + static_cast<float>(worker.rank() % 2);
      Floats data(100, value);
      const Ticket ticket = worker.push_pull(tensor, std::span<const float>(data), std::span(data));
      ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
      EXPECT_THAT(data, Each(static_cast<float>(round * 20 + 1)));
      EXPECT_EQ(ticket.info().contributors, 2U);
    }
    if (worker.rank() != 2) others_through.count_down();
  });
}

TEST(QuorumExchange, ManyRoundsAreInFlightAtOnce) {
  Cluster({.workers = 3, .shards = 1, .job = {.part_bytes = 256}}).run([](Worker& worker) {
    const Tensor tensor =
        declare(worker, 500, {.exchange = Exchange::kDirect, .close = {.quorum = 2}});
    std::vector<Floats> all(40, Floats(500, one_of(worker.rank())));
    std::vector<Ticket> tickets;
    for (Floats& each : all) {
      tickets.push_back(worker.push_pull(tensor, std::span<const float>(each), std::span(each)));
    }
    for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().ok()) << ticket.wait().text();
  });
}

TEST(QuorumExchange, RefusedDeclareLeavesNameFree) {
  Cluster({.workers = 2, .shards = 1}).run([](Worker& worker) {
    EXPECT_FALSE(
        worker
            .declare("t", Dtype::kF32, 10, {.exchange = Exchange::kDirect, .close = {.quorum = 3}})
            .ok());
    const Tensor tensor =
        declare(worker, 10, {.exchange = Exchange::kDirect, .close = {.quorum = 2}});
    Floats data(10, one_of(worker.rank()));
    const Ticket ticket = worker.push_pull(tensor, std::span<const float>(data), std::span(data));
    EXPECT_TRUE(ticket.wait().ok()) << ticket.wait().text();
  });
}

TEST(QuorumExchange, InvalidCloseOptionsAreExplained) {
  Cluster({.workers = 3, .shards = 1}).run([](Worker& worker) {
    int number = 0;
    const auto refusal = [&worker, &number](const TensorOptions& options) {
      const Result<Tensor> made =
          worker.declare("r" + std::to_string(worker.rank()) + "-" + std::to_string(++number),
                         Dtype::kF32, 10, options);
      return made.ok() ? std::string() : made.status().text();
    };
    if (worker.rank() == 0) {
      EXPECT_THAT(refusal({.exchange = Exchange::kRing, .close = {.quorum = 2}}),
                  HasSubstr("are for exchange direct, this is ring"));
      EXPECT_THAT(refusal({.close = {.quorum = 2}}), HasSubstr("this is servers"));
      EXPECT_THAT(refusal({.exchange = Exchange::kDirect, .close = {.quorum = 4}}),
                  HasSubstr("wants a quorum of 4, and the job has 3 workers"));
      EXPECT_THAT(refusal({.exchange = Exchange::kDirect, .close = {.backups = 1}}),
                  HasSubstr("so a multiple of 2 workers; the job has 3"));
      EXPECT_THAT(refusal({.exchange = Exchange::kDirect, .close = {.quorum = 2, .backups = 2}}),
                  HasSubstr("leave quorum out"));
      EXPECT_THAT(refusal({.update = {.rule = Rule::kMax},
                           .exchange = Exchange::kDirect,
                           .close = {.quorum = 2, .late = Late::kOwn}}),
                  HasSubstr("use late next"));
    }
    const Tensor tensor =
        declare(worker, 10, {.exchange = Exchange::kDirect, .close = {.quorum = 2}});
    Floats data(10);
    EXPECT_THAT(worker.broadcast(tensor, std::span(data), 0).wait().text(),
                HasSubstr("declare another tensor for broadcast"));
    EXPECT_TRUE(
        worker.push_pull(tensor, std::span<const float>(data), std::span(data)).wait().ok());
  });
}

TEST(QuorumExchange, DepartedWorkerFailsLaterRounds) {
  Cluster({.workers = 3, .shards = 1}).run([](Worker& worker) {
    const Tensor tensor =
        declare(worker, 10, {.exchange = Exchange::kDirect, .close = {.quorum = 2}});
    Floats data(10, 1);
    for (int round = 1; round <= 12; ++round) {
      const Status status =
          worker.push_pull(tensor, std::span<const float>(data), std::span(data)).wait();
      ASSERT_TRUE(status.ok()) << status.text();
    }
    if (worker.rank() == 2) return;
    // Some rounds may close before its departure is known.
    Status status;
    for (int round = 13; round <= 16 && status.ok(); ++round) {
      status = worker.push_pull(tensor, std::span<const float>(data), std::span(data)).wait();
    }
    EXPECT_EQ(status.code(), Code::kPeerLost);
    EXPECT_THAT(status.text(), HasSubstr("worker 2 has left the job"));
  });
}

}  // namespace
}  // namespace stretto
