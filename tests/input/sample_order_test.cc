// SPDX-License-Identifier: Apache-2.0
// The epoch contract, without a file: each sample once over all ranks, in an order that depends
// only on the options and can be entered anywhere.
#include "input/order/sample_order.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "common/mix64.h"
#include "input/order/permutation.h"
#include "tests/input/files.h"

namespace stretto::input {
namespace {

std::vector<std::uint64_t> epoch_of(Walk& walk, std::uint64_t least = 1) {
  std::vector<std::uint64_t> all;
  for (auto some = walk.next(least); !some.empty(); some = walk.next(least)) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// An index over files of records of 100 bytes.
class OrderTest : public ::testing::Test {
 protected:
  Options options(std::vector<std::size_t> records) {
    Options made{.format = Format::kRecords,
                 .record_bytes = 100,
                 .shuffle_block_bytes = 700,
                 .shuffle_blocks = 3};
    for (std::size_t i = 0; i < records.size(); ++i) {
      made.paths.push_back(folder_.write(std::to_string(i), std::string(records[i] * 100, 'x')));
    }
    return made;
  }
  Index index(const Options& options) {
    std::vector<Status> problems;
    return *Index::build(options, problems);
  }
  testing::Folder folder_;
};

TEST(Permutation, IsOne) {
  for (const std::uint64_t count : {1U, 2U, 3U, 4U, 5U, 16U, 17U, 1000U}) {
    for (const std::uint64_t key : {0U, 1U, 99U}) {
      const Permutation permutation(count, key);
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < count; ++i) seen.insert(permutation(i));
      EXPECT_EQ(seen.size(), count);
      EXPECT_LT(*seen.rbegin(), count);
    }
  }
}

// How far the counts of all orders of `count` numbers are from uniform, over keys as epochs make
// them: Pearson's statistic, in standard deviations from its mean.
double unevenness(std::uint64_t count) {
  constexpr std::uint64_t kKeysAnOrder = 50;
  std::uint64_t orders = 1;
  for (std::uint64_t i = 2; i <= count; ++i) orders *= i;
  std::map<std::vector<std::uint64_t>, double> seen;
  for (std::uint64_t key = 0; key < orders * kKeysAnOrder; ++key) {
    const Permutation permutation(count, mix64(7) + mix64(~key));
    std::vector<std::uint64_t> order;
    for (std::uint64_t i = 0; i < count; ++i) order.push_back(permutation(i));
    ++seen[order];
  }
  double sum = static_cast<double>(orders - seen.size()) * kKeysAnOrder;
  for (const auto& [order, times] : seen) {
    sum += (times - kKeysAnOrder) * (times - kKeysAnOrder) / kKeysAnOrder;
  }
  const auto freedom = static_cast<double>(orders - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(Permutation, OfAFewNumbersAllOrdersAreEquallyLikely) {
  for (std::uint64_t count = 2; count <= 6; ++count) EXPECT_LT(unevenness(count), 3) << count;
}

TEST(Permutation, LooksRandom) {
  // Of 1000 numbers about one keeps its place, and neighbours are separated.
  int fixed = 0;
  int neighbours = 0;
  for (std::uint64_t key = 0; key < 100; ++key) {
    const Permutation permutation(1000, key);
    for (std::uint64_t i = 0; i < 999; ++i) {
      fixed += permutation(i) == i ? 1 : 0;
      neighbours += permutation(i) + 1 == permutation(i + 1) ? 1 : 0;
    }
  }
  EXPECT_NEAR(fixed, 100, 50);
  EXPECT_NEAR(neighbours, 100, 50);
}

TEST_F(OrderTest, EachSampleOnceOverAllRanks) {
  for (const bool shuffle : {false, true}) {
    for (const std::uint32_t world : {1U, 2U, 3U, 7U}) {
      Options wanted = options({10, 0, 1, 25, 64});
      const Index found = index(wanted);
      wanted.shuffle = shuffle;
      wanted.world = world;
      std::multiset<std::uint64_t> seen;
      for (wanted.rank = 0; wanted.rank < world; ++wanted.rank) {
        const Order order(found, wanted);
        Walk walk(order, 1);
        const auto mine = epoch_of(walk);
        EXPECT_EQ(mine.size(), order.samples());
        EXPECT_NEAR(static_cast<double>(mine.size()), 100.0 / world, 1);
        seen.insert(mine.begin(), mine.end());
        EXPECT_TRUE(walk.over());
      }
      std::vector<std::uint64_t> expected(100);
      std::iota(expected.begin(), expected.end(), 0U);
      EXPECT_TRUE(std::ranges::equal(seen, expected));
    }
  }
}

// The samples of each epoch over all ranks; every rank must have equally many.
std::vector<std::set<std::uint64_t>> even_epochs(const Index& index, Options wanted,
                                                 std::size_t epochs) {
  wanted.even = true;
  std::vector<std::set<std::uint64_t>> seen(epochs);
  for (wanted.rank = 0; wanted.rank < wanted.world; ++wanted.rank) {
    const Order order(index, wanted);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      Walk walk(order, 0);
      walk.seek(epoch, 0);
      const std::vector<std::uint64_t> mine = epoch_of(walk);
      EXPECT_EQ(mine.size(), index.samples() / wanted.world);
      for (const std::uint64_t sample : mine) EXPECT_TRUE(seen[epoch].insert(sample).second);
    }
  }
  return seen;
}

TEST_F(OrderTest, EvenRanksOmitDifferentSamplesEachEpoch) {
  Options wanted = options({10, 3, 42});
  const Index found = index(wanted);
  wanted.world = 4;  // 55 samples: 3 are left out.
  for (const bool shuffle : {false, true}) {
    wanted.shuffle = shuffle;
    std::set<std::uint64_t> seen;
    for (const std::set<std::uint64_t>& epoch : even_epochs(found, wanted, 2)) {
      EXPECT_EQ(epoch.size(), 52U);
      seen.insert(epoch.begin(), epoch.end());
    }
    EXPECT_EQ(seen.size(), 55U);
  }
}

TEST_F(OrderTest, AFewSamplesAreSharedOutToo) {
  Options wanted = options({9});  // A block would be 7 samples, a window 3 blocks.
  const Index found = index(wanted);
  wanted.shuffle = true;
  wanted.world = 4;
  std::set<std::vector<std::uint64_t>> shares;
  for (std::uint64_t epoch = 0; epoch < 8; ++epoch) {
    const Order order(found, wanted);
    Walk walk(order, 0);
    walk.seek(epoch, 0);
    std::vector<std::uint64_t> mine = epoch_of(walk);
    EXPECT_EQ(mine.size(), 3U);
    std::ranges::sort(mine);
    shares.insert(mine);
  }
  EXPECT_GT(shares.size(), 4U) << "an epoch deals anew";
}

TEST_F(OrderTest, EpochsAndSeedsDiffer) {
  Options wanted = options({64, 64});
  const Index found = index(wanted);
  wanted.shuffle = true;
  const Order order(found, wanted);
  Walk walk(order, 0);
  const auto first = epoch_of(walk);
  const auto second = epoch_of(walk);
  EXPECT_NE(first, second);
  EXPECT_FALSE(std::ranges::is_sorted(first));
  wanted.seed = 1;
  const Order other(found, wanted);
  Walk other_walk(other, 0);
  EXPECT_NE(epoch_of(other_walk), first);
  EXPECT_NE(other.fingerprint(), order.fingerprint());
  wanted.shuffle_block_bytes = 800;
  EXPECT_NE(Order(found, wanted).fingerprint(), other.fingerprint());
}

TEST_F(OrderTest, CanBeEnteredAnywhere) {
  Options wanted = options({33, 20});
  const Index found = index(wanted);
  wanted.even = true;
  wanted.world = 3;
  for (int i = 0; i < 6; ++i) {
    wanted.shuffle = i % 2 == 1;
    wanted.rank = static_cast<std::uint32_t>(i / 2);
    const Order order(found, wanted);
    Walk whole(order, 0);
    (void)epoch_of(whole);
    const auto expected = epoch_of(whole);
    for (std::uint64_t passed = 0; passed <= expected.size(); ++passed) {
      Walk walk(order, 0);
      walk.seek(1, passed);
      const auto rest = epoch_of(walk, 9);
      EXPECT_TRUE(
          std::ranges::equal(rest, std::span(expected).subspan(static_cast<std::size_t>(passed))));
      EXPECT_EQ(walk.epoch(), 2U);
    }
  }
}

TEST_F(OrderTest, NothingToRead) {
  const Options wanted = options({0, 0});
  const Index found = index(wanted);
  const Order order(found, wanted);
  Walk walk(order, 2);
  EXPECT_TRUE(walk.next(1).empty());
  EXPECT_FALSE(walk.over());
  EXPECT_TRUE(walk.next(1).empty());
  EXPECT_TRUE(walk.over());
}

}  // namespace
}  // namespace stretto::input
