// SPDX-License-Identifier: Apache-2.0
// The codec pool: small work runs at once, large work on other threads, and all of it before the
// pool ends. Then a whole job over real sockets with every codec.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <numeric>
#include <semaphore>
#include <thread>

#include "tests/worker/live_cluster.h"
#include "worker/operations/codec_executor.h"

namespace stretto {
namespace {

TEST(PoolCoder, LargeWorkIsDoneElsewhereAndItsEndIsPosted) {
  std::binary_semaphore posted(0);
  std::thread::id where;
  const auto pool = make_pool_coder([&](const CodecExecutor::Work& then) {
    then();
    posted.release();
  });
  pool->run({.bytes = 1 << 20}, [&] { where = std::this_thread::get_id(); }, [] {});
  posted.acquire();
  EXPECT_NE(where, std::this_thread::get_id());
  bool done = false;
  pool->run({.bytes = 64}, [&] { where = std::this_thread::get_id(); }, [&] { done = true; });
  EXPECT_EQ(where, std::this_thread::get_id());
  EXPECT_TRUE(done);
}

// After stop() no thread posts, so an ended loop cannot get codec work.
TEST(PoolCoder, StopDropsUnstartedWorkAndAwaitsRest) {
  std::atomic<int> begun{0};
  std::atomic<int> posted{0};
  std::latch first(1);
  auto pool = make_pool_coder([&](const CodecExecutor::Work& then) { then(); });
  const auto lease = std::make_shared<int>(0);  // Like a lease on the user's memory.
  for (int i = 0; i < 100; ++i) {
    pool->run(
        {.bytes = 1 << 20},
        [&, lease] {
          if (begun.fetch_add(1) == 0) first.count_down();
        },
        [&, lease] { posted.fetch_add(1); });
  }
  first.wait();
  pool->stop();
  EXPECT_GE(begun.load(), 1);
  EXPECT_EQ(posted.load(), begun.load());
  EXPECT_EQ(lease.use_count(), 1) << "nobody holds it any more";
  pool.reset();
  EXPECT_EQ(posted.load(), begun.load());
}

// All threads but one are blocked until the end, and that one until everything is queued.
TEST(PoolCoder, UrgentWorkGoesFirst) {
  constexpr int kPieces = 40;
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::latch begin(1);
  std::latch end(kPieces);
  std::vector<int> order;
  auto pool = make_pool_coder([](const CodecExecutor::Work& then) { then(); });
  for (unsigned i = 0; i < threads; ++i) {
    pool->run(
        {.bytes = 1 << 20, .urgency = {.priority = 1000}},
        [&, i] { (i == 0 ? begin : end).wait(); }, [] {});
  }
  for (int i = 0; i < kPieces; ++i) {
    pool->run(
        {.bytes = 1 << 20, .urgency = {.priority = i % 20}},
        [&, i] {
          order.push_back(i);
          end.count_down();
        },
        [] {});
  }
  begin.count_down();
  pool.reset();
  std::vector<int> wanted;
  for (int priority = 19; priority >= 0; --priority) {
    wanted.insert(wanted.end(), {priority, priority + 20});
  }
  EXPECT_EQ(order, wanted);
}

// Work that never began releases its leases before discard() returns.
TEST(PoolCoder, DiscardedWorkNeverStarts) {
  std::latch begin(1);
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
  std::atomic<int> ran{0};
  const auto held = std::make_shared<int>();
  auto pool = make_pool_coder([](const CodecExecutor::Work& then) { then(); });
  for (unsigned i = 0; i < threads; ++i) {
    pool->run({.bytes = 1 << 20, .urgency = {.priority = 1000}}, [&] { begin.wait(); }, [] {});
  }
  for (int i = 0; i < 10; ++i) {
    pool->run(
        {.operation = i % 2 == 0 ? 7U : 8U, .bytes = 1 << 20}, [&ran, held] { ran.fetch_add(1); },
        [] {});
  }
  EXPECT_EQ(held.use_count(), 11);
  pool->discard(7);
  EXPECT_EQ(held.use_count(), 6);
  begin.count_down();
  pool.reset();
  EXPECT_EQ(ran.load(), 5);
}

TEST(PoolCoder, PoolsOfOneProcessDoNotWaitForOneAnother) {
  std::latch latch(1);
  auto one = make_pool_coder([](const CodecExecutor::Work& then) { then(); });
  auto other = make_pool_coder([](const CodecExecutor::Work& then) { then(); });
  for (int i = 0; i < 8; ++i) {
    one->run({.bytes = 1 << 20}, [&latch] { latch.wait(); }, [] {});
  }
  other->run({.bytes = 1 << 20}, [&latch] { latch.count_down(); }, [] {});
  one.reset();
  other.reset();
  EXPECT_TRUE(latch.try_wait());
}

using Floats = std::vector<float>;

TEST(LiveCodecs, CodecsSumExactNumbersEndToEnd) {
  live::Cluster cluster({.workers = 2, .job = {.part_bytes = 64 << 10}});
  cluster.run([](Worker& worker) {
    constexpr std::size_t kCount = 50'000;
    const float rank = static_cast<float>(worker.rank());
    Floats mine(kCount);
    for (std::size_t i = 0; i < kCount; ++i) mine[i] = static_cast<float>(i % 64) - rank;
    for (const std::string_view text :
         {"fp16", "bf16", "topk,k=1000000", "randomk,k=1000000", "topk,k=1000000,ef=vanilla"}) {
      Result<Tensor> tensor =
          worker.declare(std::string(text), Dtype::kF32, kCount, {.codec = *codec_from(text)});
      ASSERT_TRUE(tensor.ok()) << tensor.status().text();
      for (int round = 0; round < 2; ++round) {
        Floats sum(kCount);
        ASSERT_TRUE(worker.push_pull(*tensor, mine, sum).wait().ok()) << text;
        for (std::size_t i = 0; i < kCount; ++i) {  // These numbers are encoded without loss.
          ASSERT_EQ(sum[i], static_cast<float>(i % 64 * 2) - 1) << text << " " << i;
        }
      }
    }
  });
  EXPECT_THAT(cluster.outcomes(), testing::Each(testing::Property(&Status::ok, true)));
}

TEST(LiveCodecs, WithFeedbackTheSumOfManyRoundsIsNear) {
  live::Cluster cluster({.workers = 2, .job = {.part_bytes = 32 << 10}});
  cluster.run([](Worker& worker) {
    constexpr std::size_t kCount = 10'000;
    constexpr int kTimes = 30;
    for (const std::string_view text :
         {"onebit,scaling=true,ef=vanilla", "int8,ef=vanilla", "topk,k=0.1,ef=vanilla",
          "randomk,k=0.2,ef=vanilla,seed=3", "dithering,k=4,ef=vanilla"}) {
      Result<Tensor> tensor =
          worker.declare(std::string(text), Dtype::kF32, kCount, {.codec = *codec_from(text)});
      ASSERT_TRUE(tensor.ok()) << tensor.status().text();
      std::vector<double> total(kCount);
      for (int round = 0; round < kTimes; ++round) {
        const Floats mine(kCount, 1.0F);
        Floats sum(kCount);
        ASSERT_TRUE(worker.push_pull(*tensor, mine, sum).wait().ok()) << text;
        for (std::size_t i = 0; i < kCount; ++i) total[i] += static_cast<double>(sum[i]);
      }
      // Errors of an element may carry over for some rounds; their mean over all elements is small.
      const double mean = std::accumulate(total.begin(), total.end(), 0.0) / kCount / kTimes;
      ASSERT_NEAR(mean, 2, 0.6) << text;
    }
  });
}

TEST(LiveCodecs, AsyncValuesTravelAsTheyAre) {
  live::Cluster cluster({.workers = 1});
  cluster.run([](Worker& worker) {
    const Tensor tensor = *worker.declare("x", Dtype::kF32, 4,
                                          {.mode = Mode::kAsync, .codec = *codec_from("topk,k=1")});
    Floats start = {1000.5F, 1, 1, 1.25F};
    ASSERT_TRUE(worker.broadcast(tensor, start, 0).wait().ok());
    const Floats share = {1, 5, 2, 0};
    Floats value(4);
    ASSERT_TRUE(worker.push_pull(tensor, share, value).wait().ok());
    EXPECT_EQ(value, (Floats{1000.5F, 6, 1, 1.25F}));
  });
}

TEST(LiveCodecs, WorkersMustAgree) {
  live::Cluster cluster;
  std::latch told(2);
  cluster.run([&told](Worker& worker) {
    const std::string codec = worker.rank() == 0 ? "fp16" : "bf16";
    Result<Tensor> tensor = worker.declare("x", Dtype::kF32, 1000, {.codec = *codec_from(codec)});
    Floats share(1000);
    Floats sum(1000);
    Status status = tensor.status();
    if (status.ok()) status = worker.push_pull(*tensor, share, sum).wait();
    told.arrive_and_wait();  // Its leave is a loss to the others, which they may see first.
    EXPECT_EQ(status.code(), Code::kMismatch) << status.text();
    EXPECT_THAT(status.cause(),
                testing::AllOf(testing::HasSubstr("as fp16"), testing::HasSubstr("as bf16")));
  });
}

}  // namespace
}  // namespace stretto
