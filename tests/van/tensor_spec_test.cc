// SPDX-License-Identifier: Apache-2.0
// What a tensor may be, here and from the wire, and how members of a job are called.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"
#include "van/control/control.pb.h"
#include "van/control/control_codec.h"

namespace stretto {
namespace {

using testing::HasSubstr;

TensorSpec adam_spec() {
  TensorSpec spec = fake::spec("layer/weights", Dtype::kBf16, 1000);
  spec.options.mode = Mode::kBounded;
  spec.options.bound = 3;
  spec.options.update = {.rule = Rule::kAdam,
                         .rate = 0.1,
                         .momentum = 0.2,
                         .nesterov = true,
                         .beta1 = 0.3,
                         .beta2 = 0.4,
                         .epsilon = 0.5,
                         .weight_decay = 0.6};
  return spec;
}

wire::Control message_of(const TensorSpec& spec) {
  const Buffer bytes = control::encode(control::Declare{spec});
  wire::Control message;
  EXPECT_TRUE(message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())));
  return message;
}

// What a scheduler reads.
Result<TensorSpec> spec_in(const wire::Control& message) {
  const std::string bytes = message.SerializeAsString();
  const auto read = control::decode(Buffer::copy_of(std::as_bytes(std::span(bytes))));
  if (!read.ok()) return read.status();
  const auto& declare = std::get<control::Declare>(*read);
  if (!declare.flaw.ok()) return declare.flaw;
  return declare.spec;
}

Result<TensorSpec> travelled(const TensorSpec& spec) { return spec_in(message_of(spec)); }

// ---- tensors

CodecSpec every_number() {
  return {.codec = Codec::kDithering,
          .k = 7,
          .scaling = true,
          .error_feedback = true,
          .momentum = true,
          .mu = 0.5,
          .seed = 12345678901234567890U,
          .levels = DitherLevels::kNatural,
          .norm = DitherNorm::kL2};
}

TEST(TensorSpec, CodecsTravelWithIt) {
  TensorSpec spec = fake::spec("x", Dtype::kF32, 10);
  spec.options.codec = every_number();
  EXPECT_EQ(*travelled(spec), canonical(spec));
  EXPECT_EQ(canonical(spec).options.codec->seed, every_number().seed);
  EXPECT_THAT(spec.describe(), HasSubstr("f32[10] sync sum as dithering(k=7 natural l2)"));
  TensorSpec other = spec;
  other.options.codec->seed = 1;
  EXPECT_NE(spec, other) << "workers must agree on all of it";
}

TEST(TensorSpec, CodecsThatCannotBeRightAreRefused) {
  const auto told = [](const TensorSpec& spec) { return check(spec).cause(); };
  TensorSpec spec = fake::spec("x", Dtype::kF32, 10);
  spec.options.codec = CodecSpec{.codec = Codec::kTopk};
  EXPECT_THAT(told(spec), HasSubstr("tensor 'x': compression: topk needs k"));
  spec.options.codec = CodecSpec{.codec = Codec::kOnebit};
  spec.dtype = Dtype::kI32;
  EXPECT_THAT(told(spec), HasSubstr("codec onebit is for f32, this is i32"));
  spec.dtype = Dtype::kF32;
  for (const Mode mode : {Mode::kEager, Mode::kEagerAsync}) {
    spec.options.mode = mode;
    EXPECT_THAT(told(spec), HasSubstr("use sync, bounded or async, or no codec"));
  }
  for (const Mode mode : {Mode::kSync, Mode::kBounded, Mode::kAsync}) {
    spec.options.mode = mode;
    EXPECT_TRUE(check(spec).ok());
  }
  wire::Control message = message_of(spec);
  message.mutable_declare()->mutable_spec()->mutable_codec()->set_codec(1000);
  EXPECT_FALSE(spec_in(message).ok());
  message = message_of(spec);
  message.mutable_declare()->mutable_spec()->mutable_codec()->set_levels(256);
  EXPECT_FALSE(spec_in(message).ok());
}

TEST(TensorSpec, CanonicalFormDropsUnusedOptions) {
  const TensorSpec sum = fake::spec("x", Dtype::kF32, 10);
  TensorSpec other = sum;
  other.options.update = {.rate = 0.5, .momentum = 0.1, .nesterov = true, .weight_decay = 1};
  other.options.bound = 7;
  other.options.codec = CodecSpec();
  EXPECT_NE(other, sum);
  EXPECT_EQ(*travelled(other), *travelled(sum));
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAdagrad}) {
    TensorSpec one = sum;
    one.options.update = {.rule = rule};
    other = one;
    other.options.update.rate = 0.5;
    EXPECT_NE(canonical(other), canonical(one)) << "it is used";
    other = one;
    other.options.update.beta2 = 0.5;
    EXPECT_EQ(canonical(other) == canonical(one), rule != Rule::kAdam);
  }
  TensorSpec onebit = sum;
  onebit.options.codec = CodecSpec{.codec = Codec::kOnebit, .k = 3, .mu = 0.5, .seed = 9};
  EXPECT_EQ(canonical(onebit).options.codec, CodecSpec{.codec = Codec::kOnebit});
  TensorSpec topk = sum;
  topk.options.codec = CodecSpec{.codec = Codec::kTopk, .k = 3};
  EXPECT_EQ(canonical(topk), topk);
}

TEST(TensorSpec, DescriptionsDifferWhereCanonicalOnesDo) {
  TensorSpec one = adam_spec();
  for (double RuleOptions::* number : {&RuleOptions::rate, &RuleOptions::beta1, &RuleOptions::beta2,
                                       &RuleOptions::epsilon, &RuleOptions::weight_decay}) {
    TensorSpec other = one;
    other.options.update.*number += 1e-12;
    EXPECT_NE(canonical(one).describe(), canonical(other).describe());
  }
}

TEST(TensorSpec, SerializationRoundTrips) {
  const Result<TensorSpec> read = travelled(adam_spec());
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, canonical(adam_spec()));
  const TensorSpec plain =
      fake::spec("x", Dtype::kI64, 7, {.mode = Mode::kSync, .deterministic = true});
  EXPECT_EQ(*travelled(plain), plain);
  const TensorSpec bulk = fake::spec("x", Dtype::kF32, 7, {.bulk = true});
  EXPECT_EQ(*travelled(bulk), bulk);
  const TensorSpec shaped = fake::spec("x", Dtype::kF32, 6, {.shape = "2x3"});
  EXPECT_EQ(*travelled(shaped), shaped);
}

TEST(TensorSpec, DescribesEverythingThatMustAgree) {
  EXPECT_EQ(fake::spec("x", Dtype::kF32, 1000).describe(), "f32[1000] sync sum");
  EXPECT_EQ(adam_spec().describe(),
            "bf16[1000] bounded(3) adam(rate=0.1 momentum=0.2 nesterov=true beta1=0.3 beta2=0.4 "
            "epsilon=0.5 decay=0.6)");
  TensorSpec mean = fake::spec("x", Dtype::kI8, 2, {.mode = Mode::kSync, .deterministic = true});
  mean.options.update.rule = Rule::kMean;
  EXPECT_EQ(mean.describe(), "i8[2] sync mean deterministic");
  EXPECT_EQ(fake::spec("x", Dtype::kF32, 5, {.bulk = true}).describe(), "f32[5] sync sum bulk");
  EXPECT_EQ(fake::spec("x", Dtype::kF32, 6, {.shape = "2x3"}).describe(), "f32[2x3] sync sum");
}

struct BadSpec {
  const char* name;
  void (*spoil)(TensorSpec&);
  const char* says;
};
void PrintTo(const BadSpec& bad, std::ostream* out) { *out << bad.name; }

class BadSpecs : public testing::TestWithParam<BadSpec> {};

TEST_P(BadSpecs, AreRefusedHereAndFromTheWire) {
  TensorSpec spec = fake::spec("grads", Dtype::kF32, 10);
  ASSERT_TRUE(check(spec).ok());
  GetParam().spoil(spec);
  EXPECT_EQ(check(spec).code(), Code::kInvalidArgument);
  EXPECT_THAT(check(spec).cause(), HasSubstr(GetParam().says));
  EXPECT_FALSE(travelled(spec).ok());
}

INSTANTIATE_TEST_SUITE_P(
    All, BadSpecs,
    testing::Values(
        BadSpec{"NoName", [](TensorSpec& s) { s.name.clear(); }, "this one has 0"},
        BadSpec{"LongName", [](TensorSpec& s) { s.name.assign(1025, 'x'); }, "1025"},
        BadSpec{"LongShape", [](TensorSpec& s) { s.options.shape.assign(257, '1'); },
                "at most 256"},
        BadSpec{"RawShape", [](TensorSpec& s) { s.options.shape = "2x\n3"; }, "printable"},
        BadSpec{"NoDtype", [](TensorSpec& s) { s.dtype = Dtype{0}; }, "dtype 0 of tensor 'grads'"},
        BadSpec{"UnknownDtype", [](TensorSpec& s) { s.dtype = Dtype{9}; }, "dtype 9"},
        BadSpec{"TooLarge", [](TensorSpec& s) { s.elements = (std::uint64_t{1} << 39) + 1; },
                "549755813889 elements"},
        BadSpec{"ModeZero", [](TensorSpec& s) { s.options.mode = Mode{0}; }, "mode 0"},
        BadSpec{"UnknownMode", [](TensorSpec& s) { s.options.mode = Mode{6}; }, "mode 6"},
        BadSpec{"RuleZero", [](TensorSpec& s) { s.options.update.rule = Rule{0}; }, "rule 0"},
        BadSpec{"UnknownRule", [](TensorSpec& s) { s.options.update.rule = Rule{10}; }, "rule 10"},
        BadSpec{"MeanWithoutRounds",
                [](TensorSpec& s) {
                  s.options.mode = Mode::kAsync;
                  s.options.update.rule = Rule::kMean;
                },
                "mode async has no rounds"},
        BadSpec{"LeastOfNoRound",
                [](TensorSpec& s) {
                  s.options.mode = Mode::kAsync;
                  s.options.update.rule = Rule::kMin;
                },
                "a min is made of a round's shares, and in mode async values are more"},
        BadSpec{"EagerProduct",
                [](TensorSpec& s) {
                  s.options.mode = Mode::kEager;
                  s.options.update.rule = Rule::kProduct;
                },
                "a product is made of a round's shares"},
        BadSpec{"LeastByCodec",
                [](TensorSpec& s) {
                  s.options.codec = CodecSpec{.codec = Codec::kFp16};
                  s.options.update.rule = Rule::kMax;
                },
                "codec fp16 is for sums and means, this is a max"},
        BadSpec{"OrderWithoutRounds",
                [](TensorSpec& s) {
                  s.options.mode = Mode::kBounded;
                  s.options.deterministic = true;
                },
                "only modes sync and eager can be deterministic, this is bounded"},
        BadSpec{"EagerWithMemory",
                [](TensorSpec& s) {
                  s.options.mode = Mode::kEagerAsync;
                  s.options.update.rule = Rule::kAdam;
                },
                "mode eager_async needs a rule that only adds (sum, mean, sgd without weight "
                "decay), this is adam"},
        BadSpec{"EagerWithDecay",
                [](TensorSpec& s) {
                  s.options.mode = Mode::kEager;
                  s.options.update = {.rule = Rule::kSgd, .weight_decay = 0.1};
                },
                "this is sgd"},
        BadSpec{"EagerMeanOfIntegers",
                [](TensorSpec& s) {
                  s.dtype = Dtype::kI32;
                  s.options.mode = Mode::kEager;
                  s.options.update.rule = Rule::kMean;
                },
                "adds means, which i32 cannot hold"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(TensorSpec, NumbersThatWouldWrapAroundAreRefused) {
  using Spoil = void (wire::TensorSpec::*)(std::uint32_t);
  for (const Spoil spoil :
       {&wire::TensorSpec::set_dtype, &wire::TensorSpec::set_mode, &wire::TensorSpec::set_rule}) {
    wire::Control message = message_of(fake::spec("x", Dtype::kF32, 1));
    (message.mutable_declare()->mutable_spec()->*spoil)(256 + 1);
    EXPECT_EQ(spec_in(message).status().code(), Code::kMalformed);
  }
}

// ---- members

TEST(Roster, MembersAreCalledByRoleAndRank) {
  const Roster roster = fake::roster(2, 2);
  EXPECT_EQ(roster.members[1].describe(), "worker 1");
  EXPECT_EQ(roster.members[2].describe(), "server 0");
  EXPECT_EQ(roster.members[3].describe(), "server 0 shard 1");
}

}  // namespace
}  // namespace stretto
