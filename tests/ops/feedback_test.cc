// SPDX-License-Identifier: Apache-2.0
// A part's encoder: error feedback delays values but loses none; momentum is Nesterov's.
#include "ops/feedback.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace stretto::ops {
namespace {

using Floats = std::vector<float>;

// The error is rounded twice a round, by 2^-24 of it. Over 200 rounds of one encoder, and over 600
// of three, that adds up to at most half of these bounds. A lost or doubled element is 1e-3 or more
// even if the codec drops only 2^-11.
constexpr double kRounding = 1e-5;
constexpr double kRoundingOfThree = 6e-5;

/// One encoder, and the decoded output of its peer.
class Line {
 public:
  explicit Line(std::string_view text) : spec_(*codec_from(text)), encoder_(spec_, true) {}

  Floats send(const Floats& numbers, std::uint64_t who = 0) {
    std::vector<std::byte> bytes(encoded_bytes(spec_, numbers.size()));
    encoder_.encode(
        numbers, {.stream = stream_for(spec_, {.round = ++round_}, who), .unbiased = true}, bytes);
    Floats out(numbers.size());
    decode(spec_, bytes, out, Then::kAssign);
    return out;
  }
  PartEncoder& encoder() { return encoder_; }
  /// The Euclidean norm of the error.
  double owed() const {
    double sum = 0;
    for (const float x : encoder_.error()) sum += static_cast<double>(x) * static_cast<double>(x);
    return std::sqrt(sum);
  }

 private:
  CodecSpec spec_;
  PartEncoder encoder_;
  std::uint64_t round_ = 0;
};

class WithFeedback : public testing::TestWithParam<const char*> {};

TEST_P(WithFeedback, SentPlusOwedEqualsInput) {
  constexpr std::size_t kCount = 700;
  Line line(GetParam());
  std::mt19937_64 random(2);
  std::normal_distribution<float> normal;
  std::vector<double> truth(kCount);
  std::vector<double> sent(kCount);
  for (int round = 0; round < 200; ++round) {
    Floats numbers(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      numbers[i] = normal(random) + 0.1F;
      truth[i] += static_cast<double>(numbers[i]);
    }
    const Floats out = line.send(numbers);
    for (std::size_t i = 0; i < kCount; ++i) sent[i] += static_cast<double>(out[i]);
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto owed = static_cast<double>(line.encoder().error()[i]);
    EXPECT_NEAR(sent[i] + owed, truth[i], kRounding) << GetParam() << " element " << i;
  }
}

// Two workers and their server: the decoded values and the errors of all three encoders add up to
// the input.
TEST_P(WithFeedback, OnBothWaysTooAndNoDebtGrowsWithoutEnd) {
  constexpr std::size_t kCount = 700;
  constexpr int kRounds = 600;
  std::vector<Line> workers(2, Line(GetParam()));
  Line server(GetParam());
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  std::vector<double> missing(kCount);
  double early = 0;  // The largest error norms in the first and in the second half of the rounds.
  double late = 0;
  for (int round = 0; round < kRounds; ++round) {
    Floats sum(kCount);
    for (std::size_t rank = 0; rank < workers.size(); ++rank) {
      Floats numbers(kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        numbers[i] = normal(random) * (i % 7 == 0 ? 3.0F : 0.3F);
        missing[i] += static_cast<double>(numbers[i]);
      }
      const Floats share = workers[rank].send(numbers, rank);
      for (std::size_t i = 0; i < kCount; ++i) sum[i] += share[i];
    }
    const Floats value = server.send(sum, kServersTurn);
    for (std::size_t i = 0; i < kCount; ++i) missing[i] -= static_cast<double>(value[i]);
    double& most = round < kRounds / 2 ? early : late;
    for (Line* line : {&workers[0], &workers[1], &server}) most = std::max(most, line->owed());
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    double owed = static_cast<double>(server.encoder().error()[i]);
    for (Line& line : workers) owed += static_cast<double>(line.encoder().error()[i]);
    EXPECT_NEAR(owed, missing[i], kRoundingOfThree) << GetParam() << " element " << i;
  }
  EXPECT_LT(late, 1.5 * early) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Codecs, WithFeedback,
                         testing::Values("fp16,ef=vanilla", "bf16,ef=vanilla", "int8,ef=vanilla",
                                         "onebit,scaling=1,ef=vanilla", "topk,k=0.05,ef=vanilla",
                                         "randomk,k=0.1,ef=vanilla", "dithering,k=4,ef=vanilla",
                                         "dithering,k=4,partition=natural,ef=vanilla"));

TEST(PartEncoder, MomentumIsNesterovs) {
  Line line("topk,k=2,momentum=nesterov,mu=0.5");        // Both elements: no error.
  EXPECT_EQ(line.send({1, -2}), (Floats{1.5F, -3}));     // m = 1, 1 + 0.5 * 1
  EXPECT_EQ(line.send({1, 0}), (Floats{1.75F, -0.5F}));  // m = 1.5, -1
  line.encoder().reset();
  EXPECT_EQ(line.send({1, 0}), (Floats{1.5F, 0}));
}

TEST(PartEncoder, AServerHasNoMomentum) {
  const CodecSpec spec = *codec_from("topk,k=1,momentum=nesterov");
  PartEncoder encoder(spec, false);
  std::vector<std::byte> bytes(encoded_bytes(spec, 1));
  const Floats one = {1};
  for (int round = 0; round < 2; ++round) {
    encoder.encode(one, {}, bytes);
    Floats out(1);
    decode(spec, bytes, out, Then::kAssign);
    EXPECT_EQ(out, one);
  }
}

TEST(PartEncoder, AnOverflowIsToldOnceAndNotOwed) {
  for (const std::string_view text :
       {"int8,ef=vanilla", "topk,k=1,ef=vanilla,momentum=nesterov", "onebit,scaling=1,ef=vanilla",
        "dithering,k=4,ef=vanilla", "fp16,ef=vanilla"}) {
    Line line(text);
    const Floats bad(4, std::numeric_limits<float>::infinity());
    bool told = false;
    for (const float x : line.send(bad)) told = told || !std::isfinite(x);
    EXPECT_TRUE(told) << text;
    for (const float x : line.send({1, 2, 3, 4})) EXPECT_TRUE(std::isfinite(x)) << text;
  }
}

// A step between levels is a seventh of the largest element, and so is the maximum error.
TEST(PartEncoder, OfSevenLevelsOneIsOwedAtMost) {
  Line line("dithering,k=7,ef=vanilla");
  const Floats numbers = {1, 0.5F, -0.25F, 0.125F, -0.5F, 0.25F, 0.125F, -1};
  float most = 0;
  for (int round = 0; round < 300; ++round) {
    line.send(numbers);
    for (const float x : line.encoder().error()) most = std::max(most, std::fabs(x));
  }
  EXPECT_LT(most, 1.0F / 6);  // The sum of 7^-1, 7^-2 ...
}

TEST(PartEncoder, FeedbackKeepsRandomkFromGrowing) {
  Line with("randomk,k=1,ef=vanilla");
  Line without("randomk,k=1");
  const Floats ones(10, 1.0F);
  float most = 0;
  for (const float x : with.send(ones)) most = std::max(most, x);
  EXPECT_EQ(most, 1);
  for (const float x : without.send(ones)) most = std::max(most, x);
  EXPECT_EQ(most, 10);
}

}  // namespace
}  // namespace stretto::ops
