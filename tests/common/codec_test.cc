// SPDX-License-Identifier: Apache-2.0
// What users may say of codecs, and what they are told when it makes no sense.
#include "stretto/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stretto {
namespace {

using Parameters = std::map<std::string, std::string>;
using testing::HasSubstr;

TEST(CodecSpec, BytePsKeysAreUnderstood) {
  const CodecSpec onebit = *codec_from(Parameters{
      {"compressor", "onebit"}, {"scaling", "True"}, {"ef", "vanilla"}, {"momentum", "nesterov"}});
  EXPECT_EQ(onebit.codec, Codec::kOnebit);
  EXPECT_TRUE(onebit.scaling && onebit.error_feedback && onebit.momentum);
  EXPECT_EQ(onebit.mu, 0.9);
  const CodecSpec dithering = *codec_from(Parameters{{"compressor", "dithering"},
                                                     {"k", "4"},
                                                     {"seed", "7"},
                                                     {"partition", "natural"},
                                                     {"normalize", "l2"}});
  EXPECT_EQ(dithering.k, 4);
  EXPECT_EQ(dithering.seed, 7U);
  EXPECT_EQ(dithering.levels, DitherLevels::kNatural);
  EXPECT_EQ(dithering.norm, DitherNorm::kL2);
  EXPECT_EQ(codec_from(Parameters{{"fp16", "1"}})->codec, Codec::kFp16);
  EXPECT_FALSE(codec_from(Parameters{{"fp16", "false"}})->lossy());
  EXPECT_FALSE(codec_from(Parameters{})->lossy());
}

TEST(CodecSpec, KeysOfBytePsOwnMessagesAreTheSame) {
  EXPECT_EQ(*codec_from(Parameters{{"compressor_type", "topk"},
                                   {"compressor_k", "0.01"},
                                   {"ef_type", "vanilla"},
                                   {"momentum_type", "nesterov"},
                                   {"momentum_mu", "0.8"}}),
            *codec_from("topk,k=0.01,ef=vanilla,momentum=nesterov,mu=0.8"));
  EXPECT_EQ(*codec_from(Parameters{{"compressor_type", "dithering"},
                                   {"compressor_k", "2"},
                                   {"dithering_partition", "1"},
                                   {"dithering_normalize", "0"}}),
            *codec_from("dithering,k=2,partition=natural,normalize=max"));
}

TEST(CodecSpec, ErrorsNameMistakeAndValidChoices) {
  const std::pair<std::string_view, std::string_view> cases[] = {
      {"zip", "compressor=zip, wanted none, fp16"},
      {"topk", "topk needs k"},
      {"topk,k=0", "topk needs k"},
      {"topk,k=nan", "topk needs k"},
      {"topk,k=-1", "topk needs k"},
      {"topk,k=many", "k=many, wanted a number"},
      {"dithering,k=128", "1 to 127; found 128"},
      {"dithering,k=1.5", "found 1.5"},
      {"onebit,ef=sometimes", "wanted vanilla or none"},
      {"onebit,momentum=nesterov,mu=1", "mu is 1"},
      {"onebit,colour=red", "'colour' is not known; there are compressor, k"},
      {"onebit,onebit", "says compressor twice"},
      {"onebit,fp16=true", "exclude one another"},
      {"fp16=maybe", "fp16=maybe"},
      {"ef=vanilla", "ef=vanilla without a compressor"},
      {"k=3", "wanted compressor=NAME"},
      {"randomk,k=2,seed=-1", "wanted a whole number"}};
  for (const auto& [text, told] : cases) {
    const Result<CodecSpec> spec = codec_from(text);
    ASSERT_FALSE(spec.ok()) << text;
    EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(spec.status().cause(), HasSubstr(told)) << text;
  }
  EXPECT_FALSE(check(CodecSpec{.codec = static_cast<Codec>(8)}).ok());
  EXPECT_FALSE(check(CodecSpec{.levels = static_cast<DitherLevels>(2)}).ok());
}

TEST(CodecSpec, DescribesItself) {
  EXPECT_EQ(codec_from("topk,k=0.01,ef=vanilla")->describe(), "topk(k=0.01) ef");
  EXPECT_EQ(codec_from("onebit,scaling=1,momentum=nesterov")->describe(),
            "onebit scaled nesterov(0.9)");
  EXPECT_EQ(codec_from("dithering,k=3,seed=5")->describe(), "dithering(k=3 linear max) seed=5");
  EXPECT_EQ(CodecSpec().describe(), "none");
  EXPECT_EQ(name_of(static_cast<Codec>(99)), "unknown");
}

TEST(CodecPolicy, TheFirstPatternThatFitsDecides) {
  const CodecPolicy policy =
      *CodecPolicy::parse("*.bias=none;layer?.weight=topk,k=0.1;*norm*=bf16;*=fp16", 100);
  const auto chosen = [&](std::string_view name, std::uint64_t bytes = 100) {
    return policy.choose(name, Dtype::kF32, bytes).codec;
  };
  EXPECT_EQ(chosen("layer1.bias"), Codec::kNone);
  EXPECT_EQ(chosen("layer1.weight"), Codec::kTopk);
  EXPECT_EQ(chosen("layer12.weight"), Codec::kFp16);
  EXPECT_EQ(chosen("a.norm.weight"), Codec::kBf16);
  EXPECT_EQ(chosen("layer1.weight", 99), Codec::kNone);
  EXPECT_EQ(policy.choose("layer1.weight", Dtype::kI32, 100).codec, Codec::kNone);
}

TEST(CodecPolicy, KeysAreNoPatternsAndBlanksDoNotCount) {
  const auto chosen = [](std::string_view rules, std::string_view name) {
    return CodecPolicy::parse(rules, 0)->choose(name, Dtype::kF32, 4).codec;
  };
  EXPECT_EQ(chosen("compressor=onebit,scaling=true", "a"), Codec::kOnebit);
  EXPECT_EQ(chosen("compressor_type=topk,compressor_k=1", "a"), Codec::kTopk);
  EXPECT_EQ(chosen(" *bias*=none ; *=fp16 ", "a.bias"), Codec::kNone);
  EXPECT_EQ(chosen(" *bias*=none ; *=fp16 ", "a.weight"), Codec::kFp16);
}

TEST(CodecPolicy, OneCodecAloneIsForAllNames) {
  EXPECT_EQ(CodecPolicy::parse("onebit,ef=vanilla", 0)->choose("a", Dtype::kF32, 4).codec,
            Codec::kOnebit);
  EXPECT_EQ(CodecPolicy::parse("", 0)->choose("a", Dtype::kF32, 4).codec, Codec::kNone);
  EXPECT_EQ(CodecPolicy::parse("a*b=fp16", 0)->choose("a", Dtype::kF32, 4).codec, Codec::kNone);
  EXPECT_FALSE(CodecPolicy::parse("*=zip", 0).ok());
  EXPECT_FALSE(CodecPolicy::parse("a*=fp16;;*=int8", 0).ok()) << "an empty rule is for nobody";
  EXPECT_FALSE(CodecPolicy::parse("fp16,k=nan", 0).ok()) << "it would not equal itself";
  EXPECT_FALSE(CodecPolicy::parse(std::string(100'000, 'a'), 0).ok());
}

}  // namespace
}  // namespace stretto
