// SPDX-License-Identifier: Apache-2.0
// Any bytes as an encoded part, for any codec: a part that check_encoded accepts is decoded within
// bounds, with the same result at every processor level. Also any text as codec rules.
// Input: the codec, its parameters, the element count, then the payload (or, for codec 8, a text).
#include <cmath>
#include <cstring>
#include <vector>

#include "common/check.h"
#include "ops/codec.h"
#include "tests/fuzz/input.h"

namespace stretto {
namespace {

constexpr std::size_t kMostElements = 5000;

CodecSpec spec_from(fuzz::Input& input, Codec codec) {
  CodecSpec spec{.codec = codec};
  const std::size_t k = 1 + input.byte();
  spec.k = codec == Codec::kDithering ? static_cast<double>((k - 1) % kMaxDitherLevels + 1)
           : k > 100                  ? static_cast<double>(k)
                                      : static_cast<double>(k) / 101;
  spec.levels = static_cast<DitherLevels>(input.below(2));
  spec.norm = static_cast<DitherNorm>(input.below(2));
  return spec;
}

void decode_part(fuzz::Input& input, Codec codec) {
  const CodecSpec spec = spec_from(input, codec);
  STRETTO_CHECK(check(spec).ok());
  const std::size_t count = input.take<std::uint16_t>() % kMostElements;
  const bool right_length = input.flag();
  const Buffer payload =
      right_length ? input.payload(ops::encoded_bytes(spec, count)) : input.rest();
  const Status status = ops::check_encoded(spec, count, payload.bytes());
  if (!status.ok()) {
    STRETTO_CHECK(status.code() == Code::kMalformed && !status.cause().empty());
    return;
  }
  std::vector<float> best(count, 1.0F);
  std::vector<float> portable(count, 1.0F);
  for (const ops::Then then : {ops::Then::kAssign, ops::Then::kAdd, ops::Then::kSubtract}) {
    ops::decode(spec, payload.bytes(), best, then);
    ops::decode(spec, payload.bytes(), portable, then, ops::Level::kPortable);
    for (std::size_t i = 0; i < count; ++i) {
      const bool both_nan = std::isnan(best[i]) && std::isnan(portable[i]);
      STRETTO_CHECK(both_nan || std::memcmp(&best[i], &portable[i], sizeof(float)) == 0);
    }
  }
}

void read_rules(fuzz::Input& input) {
  const Buffer text = input.rest();
  const Result<CodecPolicy> policy =
      CodecPolicy::parse({reinterpret_cast<const char*>(text.data()), text.size()}, 0);
  if (!policy.ok()) {
    STRETTO_CHECK(!policy.status().cause().empty());
    return;
  }
  STRETTO_CHECK(check(policy->choose("layer.weight", Dtype::kF32, 1 << 20)).ok());
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  constexpr auto kRules = static_cast<std::size_t>(Codec::kDithering) + 1;
  const std::size_t what = 1 + input.below(kRules);
  if (what == kRules) return read_rules(input);
  decode_part(input, static_cast<Codec>(what));
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
