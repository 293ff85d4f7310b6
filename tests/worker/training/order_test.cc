// SPDX-License-Identifier: Apache-2.0
// Orders that need no model: which tensor gets which priority, and what files are refused.
#include "stretto/order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace stretto {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kTensors{"conv", "fc", "head"};

std::vector<int> priorities_of(const OrderSource& order) {
  const Result<std::vector<int>> found = order.priorities(kTensors);
  EXPECT_TRUE(found.ok()) << found.status().text();
  return found.ok() ? *found : std::vector<int>();
}

TEST(Order, ByRegistrationTheFirstIsTheMostUrgent) {
  EXPECT_THAT(priorities_of(*registration_order()), ElementsAre(0, -1, -2));
  EXPECT_EQ(registration_order()->name(), "registration");
}

TEST(Order, ByArrivalAllAreEqual) {
  EXPECT_THAT(priorities_of(*arrival_order()), ElementsAre(0, 0, 0));
}

TEST(Order, ARandomOneIsAPermutationThatItsSeedTells) {
  std::vector<std::vector<int>> seen;
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    std::vector<int> found = priorities_of(*random_order(seed));
    EXPECT_EQ(found, priorities_of(*random_order(seed)));
    seen.push_back(found);
    std::sort(found.begin(), found.end());
    EXPECT_THAT(found, ElementsAre(-2, -1, 0));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()) - seen.begin(), 6) << "not all orders come";
}

TEST(Order, RankSetsPriorityAndMissingRankIsNamed) {
  EXPECT_THAT(priorities_of(*ranked_order("mine", {{"head", 0}, {"fc", 7}, {"conv", 7}})),
              ElementsAre(-7, -7, 0));
  const auto found = ranked_order("mine", {{"head", 0}})->priorities(kTensors);
  EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(found.status().cause(),
            "wanted a rank for tensor 'conv', the order 'mine' has none; it knows 1 tensors");
}

/// A file for as long as the test.
class OrderFile : public testing::Test {
 protected:
  OrderFile() : path_(testing::TempDir() + "stretto-order-XXXXXX") {
    const int file = ::mkstemp(path_.data());
    EXPECT_GE(file, 0);
    ::close(file);
  }
  ~OrderFile() override { std::filesystem::remove(path_); }
  Result<Order> read(const std::string& text) {
    std::ofstream(path_) << text;
    return file_order(path_);
  }
  std::string path_;
};

TEST_F(OrderFile, HasALineForEachTensor) {
  const Result<Order> order = read("# of ResNet\nfc\t0\n\nconv\t2\r\nhead\t2\nunused one\t9\n");
  ASSERT_TRUE(order.ok()) << order.status().text();
  EXPECT_THAT(priorities_of(**order), ElementsAre(-2, 0, -2));
}

TEST_F(OrderFile, MalformedFileIsNamedWithLine) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"fc 0\n", ":1: found 'fc 0', which has no tab"},
      {"conv\t1\n\t0\n", ":2: found no name before the tab"},
      {"fc\t\n", ":1: found the rank ''"},
      {"fc\t-1\n", ":1: found the rank '-1'"},
      {"fc\t1x\n", ":1: found the rank '1x'"},
      {"fc\t2147483648\n", ":1: found the rank '2147483648'"},
      {"fc\t1\nfc\t2\n", ":2: found 'fc' for the second time"}};
  for (const auto& [text, cause] : cases) {
    const Result<Order> order = read(text);
    EXPECT_EQ(order.status().code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(order.status().cause(),
                AllOf(HasSubstr(path_ + cause), HasSubstr("; wanted a tensor's name, a tab")));
  }
  EXPECT_THAT(file_order("no/such/file").status().cause(), HasSubstr("cannot read no/such/file"));
}

TEST(UseRecorder, OrdersByFirstUseWithoutBeingToldAnything) {
  UseRecorder recorder;
  for (const char* tensor : {"head", "conv", "head", "conv"}) recorder.used(tensor);
  EXPECT_THAT(priorities_of(*recorder.order()), ElementsAre(-1, -2, 0));  // fc was never used.
  recorder.used("fc");
  EXPECT_THAT(priorities_of(*recorder.order()), ElementsAre(-1, -2, 0));
  EXPECT_THAT(priorities_of(*UseRecorder().order()), ElementsAre(0, -1, -2));
}

}  // namespace
}  // namespace stretto
