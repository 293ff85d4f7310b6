// SPDX-License-Identifier: Apache-2.0
// Names to codecs; and the same steps as worker and server go, by the functions that they use.
#include "tools/bench/replay_codecs.h"

#include <algorithm>
#include <span>

#include "ops/feedback.h"
#include "tools/bench/flags.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kLeastBytes = 64 << 10;  // As STRETTO_CODEC_MIN_BYTES has it by default.

std::string with_defaults(std::string name) {
  if (name.find(",k=") != std::string::npos) return name;
  if (name.starts_with("topk") || name.starts_with("randomk")) return name + ",k=0.01";
  if (name.starts_with("dithering")) return name + ",k=7";
  return name;
}

std::vector<std::byte> encoded(const CodecSpec& codec, bool worker, std::span<const float> numbers,
                               std::uint64_t stream) {
  std::vector<std::byte> out(ops::encoded_bytes(codec, numbers.size()));
  ops::PartEncoder(codec, worker).encode(numbers, {.stream = stream, .unbiased = worker}, out);
  return out;
}

}  // namespace

Status read_codecs(std::string_view text, std::vector<NamedCodec>& codecs) {
  std::vector<std::string> names;
  for (const std::string_view word : split(text)) {
    if (names.empty() || word.find('=') == std::string_view::npos) {
      names.emplace_back(word);
    } else {
      names.back().append(",").append(word);
    }
  }
  codecs.clear();
  for (std::string& name : names) {
    if (name == "lossless" || name == "none") {
      codecs.emplace_back();
      continue;
    }
    name = with_defaults(std::move(name));
    Result<CodecSpec> spec = codec_from(name);
    if (!spec.ok()) return spec.status();
    if (!spec->lossy()) return invalid("wanted lossless or a codec between two commas");
    codecs.push_back({std::move(name), *spec});
  }
  return {};
}

CodecSpec codec_for(const CodecSpec& asked, std::uint64_t original_bytes) {
  return original_bytes < kLeastBytes ? CodecSpec() : asked;
}

std::uint64_t travelling_bytes(const CodecSpec& codec, std::uint64_t elements,
                               std::uint64_t part_bytes) {
  if (!codec.lossy()) return elements * sizeof(float);
  const std::uint64_t whole = std::max<std::uint64_t>(1, part_bytes / sizeof(float));
  const std::uint64_t rest = elements % whole;
  return elements / whole * ops::encoded_bytes(codec, whole) +
         (rest == 0 ? 0 : ops::encoded_bytes(codec, rest));
}

std::vector<float> expected_value(const CodecSpec& codec, const EvenRound& round) {
  std::vector<float> value(round.elements, static_cast<float>(round.workers) * round.share);
  if (!codec.lossy()) return value;
  const std::size_t whole = std::max<std::uint64_t>(1, round.part_bytes / sizeof(float));
  ops::PartRound what{.tensor = ops::name_hash(round.tensor), .part = 0, .round = round.round};
  for (std::size_t first = 0; first < value.size(); first += whole, ++what.part) {
    const std::span<float> part =
        std::span(value).subspan(first).first(std::min(whole, value.size() - first));
    const std::vector<float> share(part.size(), round.share);
    for (std::uint32_t rank = 0; rank < round.workers; ++rank) {
      const auto bytes = encoded(codec, true, share, ops::stream_for(codec, what, rank));
      ops::decode(codec, bytes, part, rank == 0 ? ops::Then::kAssign : ops::Then::kAdd);
    }
    const auto bytes = encoded(codec, false, part, ops::stream_for(codec, what, ops::kServersTurn));
    ops::decode(codec, bytes, part, ops::Then::kAssign);
  }
  return value;
}

}  // namespace stretto::bench
