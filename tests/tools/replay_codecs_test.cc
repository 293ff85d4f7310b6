// SPDX-License-Identifier: Apache-2.0
// Codecs of `stretto-bench replay`: how they are read, which bytes they leave, and what the servers
// must answer.
#include "tools/bench/replay_codecs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/bench/replay_order.h"
#include "tools/bench/settings.h"

namespace stretto::bench {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_in(std::string_view text) {
  std::vector<NamedCodec> codecs;
  const Status status = read_codecs(text, codecs);
  EXPECT_TRUE(status.ok()) << status.text();
  std::vector<std::string> names;
  for (const NamedCodec& codec : codecs) names.push_back(codec.name);
  return names;
}

std::string cause_of(const std::vector<std::string>& words) {
  return std::string(read_settings(Benchmark::kReplay, words).status().cause());
}

TEST(ReplayCodecs, CommasSeparateCodecsAndTheirKeys) {
  EXPECT_THAT(names_in("lossless,fp16,onebit,scaling=true,ef=vanilla,int8"),
              ElementsAre("lossless", "fp16", "onebit,scaling=true,ef=vanilla", "int8"));
  EXPECT_THAT(names_in("topk,randomk,k=0.5,dithering,ef=vanilla"),
              ElementsAre("topk,k=0.01", "randomk,k=0.5", "dithering,ef=vanilla,k=7"));
  std::vector<NamedCodec> codecs;
  ASSERT_TRUE(read_codecs("topk", codecs).ok());
  EXPECT_EQ(codecs.front().spec, *codec_from("topk,k=0.01"));
}

TEST(ReplayCodecs, WhatCannotBeMeasuredIsNamed) {
  EXPECT_THAT(cause_of({"--codec", "zip"}), HasSubstr("--codec is 'zip'"));
  EXPECT_THAT(cause_of({"--codec", "fp16,"}), HasSubstr("wanted lossless or a codec"));
  EXPECT_THAT(cause_of({"--codec", "k=3"}), HasSubstr("--codec is 'k=3'"));
  EXPECT_THAT(cause_of({"--codec", "fp16", "--lab_mbit", "200", "--rate_mbit", "1000"}),
              HasSubstr("--lab_mbit is 200 and --rate_mbit 1000"));
  EXPECT_THAT(cause_of({"--codec", "fp16", "--scheme", "async"}),
              HasSubstr("async is in mode async"));
}

TEST(ReplayCodecs, WithOneTheLinksAreNotScaledAndTheSchemeIsOurs) {
  const Settings coded = *read_settings(
      Benchmark::kReplay, std::vector<std::string>{"--codec", "fp16", "--rate_mbit", "1000"});
  EXPECT_EQ(coded.replay.lab_mbit, 1000U);
  ASSERT_EQ(coded.replay.schemes.size(), 1U);
  EXPECT_EQ(coded.replay.schemes.front().name, "preempt");
  const Settings plain = *read_settings(Benchmark::kReplay, std::vector<std::string>{});
  EXPECT_EQ(plain.replay.lab_mbit, 400U);
  EXPECT_EQ(plain.replay.schemes.size(), all_schemes().size());
}

TEST(ReplayCodecs, SmallTensorsTravelAsTheyAre) {
  const CodecSpec onebit = *codec_from("onebit");
  EXPECT_FALSE(codec_for(onebit, (64 << 10) - 4).lossy());
  EXPECT_TRUE(codec_for(onebit, 64 << 10).lossy());
}

TEST(ReplayCodecs, BytesAreThoseOfEveryPart) {
  EXPECT_EQ(travelling_bytes({}, 1000, 400), 4000U);
  EXPECT_EQ(travelling_bytes(*codec_from("fp16"), 1001, 400), 2002U);
  EXPECT_EQ(travelling_bytes(*codec_from("onebit"), 200, 400), 2 * (4 + 13U));
  EXPECT_EQ(travelling_bytes(*codec_from("onebit"), 9, 400), 4 + 2U);
}

TEST(ReplayCodecs, ThePredictionIsOfTheEncodedBytes) {
  ReplaySettings settings;
  settings.rate_mbit = settings.lab_mbit = 100;
  const Model model = *find_model("vgg16");
  const Links links{.bytes_per_second = 12e6};
  const Scheme preempt = *std::ranges::find(all_schemes(), "preempt", &Scheme::name);
  const double plain = *predicted_s(settings, preempt, model, links);
  const double half = *predicted_s(settings, preempt, model, links, *codec_from("fp16"));
  EXPECT_NEAR(half / plain, 0.5, 0.03) << "the link limits both";
}

TEST(ReplayCodecs, ExpectedValuesAreThoseOfTheArithmetic) {
  EvenRound round{
      .tensor = "x", .elements = 10, .part_bytes = 16, .round = 3, .workers = 2, .share = 2};
  EXPECT_THAT(expected_value({}, round), Each(4.0F));
  EXPECT_THAT(expected_value(*codec_from("fp16"), round), Each(4.0F));
  EXPECT_THAT(expected_value(*codec_from("onebit"), round), Each(1.0F)) << "signs, twice";
  EXPECT_THAT(expected_value(*codec_from("onebit,scaling=true"), round), Each(4.0F));
  EXPECT_THAT(expected_value(*codec_from("topk,k=1"), round),
              ElementsAre(4, 0, 0, 0, 4, 0, 0, 0, 4, 0));
  const std::vector<float> chosen = expected_value(*codec_from("randomk,k=1"), round);
  EXPECT_EQ(std::ranges::count(chosen, 0.0F), 6) << "two elements are shorter as they are";
  EXPECT_THAT(expected_value(*codec_from("dithering,k=3"), round), Each(4.0F));
}

}  // namespace
}  // namespace stretto::bench
