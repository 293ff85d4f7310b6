// SPDX-License-Identifier: Apache-2.0
// Messages there and back, and what a malformed one is told.
#include "van/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/van/far_end.h"

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

// ---- bytes and errors

TEST(Messages, ControlMessagesTravelAsBytes) {
  const wire::Control sent = fake::hello(Role::kWorker, 3);
  wire::Control read;
  ASSERT_TRUE(parse(serialize(sent), read).ok());
  EXPECT_EQ(read.SerializeAsString(), sent.SerializeAsString());
}

TEST(Messages, WhatSaysNothingIsMalformed) {
  wire::Control read;
  EXPECT_EQ(parse(Buffer(), read).code(), Code::kMalformed);
  EXPECT_EQ(parse(serialize(wire::Control()), read).code(), Code::kMalformed);
}

TEST(Messages, FaultsCarryCodeCauseAndPeer) {
  const Status why = Status(Code::kPeerLost, "worker 3 is lost").with_peer("worker 3");
  const Status read = status_of(fault_message(why).fault());
  EXPECT_EQ(read, why);
  EXPECT_EQ(read.peer(), "worker 3");
}

TEST(Messages, EveryCodeTravels) {
  for (int code = 1; code <= static_cast<int>(Code::kInterrupted); ++code) {
    const Status why(static_cast<Code>(code), "x");
    EXPECT_EQ(status_of(fault_message(why).fault()).code(), why.code());
  }
}

TEST(Messages, CodesThatAreNotKnownBecomeCancelledAndNeverOk) {
  wire::Fault fault;
  wire::Failure failure;
  EXPECT_EQ(status_of(fault).code(), Code::kCancelled);
  fault.set_code(99);
  failure.set_code(1000);
  EXPECT_EQ(status_of(fault).code(), Code::kCancelled);
  EXPECT_EQ(status_of(failure).code(), Code::kCancelled);
}

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
  EXPECT_EQ(*from_wire(to_wire(spec)), canonical(spec));
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
  wire::TensorSpec message = to_wire(spec);
  message.mutable_codec()->set_codec(1000);
  EXPECT_FALSE(from_wire(message).ok());
  message = to_wire(spec);
  message.mutable_codec()->set_levels(256);
  EXPECT_FALSE(from_wire(message).ok());
}

TEST(TensorSpec, WhatTheRuleTheModeOrTheCodecDoesNotUseIsNoDifference) {
  const TensorSpec sum = fake::spec("x", Dtype::kF32, 10);
  TensorSpec other = sum;
  other.options.update = {.rate = 0.5, .momentum = 0.1, .nesterov = true, .weight_decay = 1};
  other.options.bound = 7;
  other.options.codec = CodecSpec();
  EXPECT_NE(other, sum);
  EXPECT_EQ(*from_wire(to_wire(other)), *from_wire(to_wire(sum)));
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
  for (double RuleOptions::*number : {&RuleOptions::rate, &RuleOptions::beta1, &RuleOptions::beta2,
                                      &RuleOptions::epsilon, &RuleOptions::weight_decay}) {
    TensorSpec other = one;
    other.options.update.*number += 1e-12;
    EXPECT_NE(canonical(one).describe(), canonical(other).describe());
  }
}

TEST(TensorSpec, TravelsWhole) {
  const Result<TensorSpec> read = from_wire(to_wire(adam_spec()));
  ASSERT_TRUE(read.ok()) << read.status().text();
  EXPECT_EQ(*read, canonical(adam_spec()));
  const TensorSpec plain =
      fake::spec("x", Dtype::kI64, 7, {.mode = Mode::kSync, .deterministic = true});
  EXPECT_EQ(*from_wire(to_wire(plain)), plain);
  const TensorSpec bulk = fake::spec("x", Dtype::kF32, 7, {.bulk = true});
  EXPECT_EQ(*from_wire(to_wire(bulk)), bulk);
  const TensorSpec shaped = fake::spec("x", Dtype::kF32, 6, {.shape = "2x3"});
  EXPECT_EQ(*from_wire(to_wire(shaped)), shaped);
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
  EXPECT_FALSE(from_wire(to_wire(spec)).ok());
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
  wire::TensorSpec message = to_wire(fake::spec("x", Dtype::kF32, 1));
  message.set_dtype(256 + 1);
  EXPECT_EQ(from_wire(message).status().code(), Code::kMalformed);
  message = to_wire(fake::spec("x", Dtype::kF32, 1));
  message.set_mode(256 + 1);
  EXPECT_FALSE(from_wire(message).ok());
  message = to_wire(fake::spec("x", Dtype::kF32, 1));
  message.set_rule(256 + 1);
  EXPECT_FALSE(from_wire(message).ok());
}

}  // namespace
}  // namespace stretto
