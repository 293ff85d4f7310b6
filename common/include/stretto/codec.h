// SPDX-License-Identifier: Apache-2.0
// How a tensor is made smaller on the wire: which codec, and its numbers. Lossless unless one is
// asked for. docs/COMPRESSION.md says what each costs and saves. Public: installed with the worker
// API; the servers speak the same words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// What a part's payload is encoded as. The numbers are the wire's; they never change.
enum class Codec : std::uint8_t {
  kNone = 0,       ///< The elements themselves.
  kFp16 = 1,       ///< Rounded to IEEE 754 binary16.
  kBf16 = 2,       ///< Rounded to bfloat16.
  kInt8 = 3,       ///< 8 bits an element, and a scale for each 256.
  kOnebit = 4,     ///< Signs (Seide et al., INTERSPEECH 2014), and with `scaling` their mean size.
  kTopk = 5,       ///< The k largest elements and their places (Aji & Heafield, EMNLP 2017).
  kRandomk = 6,    ///< k elements by chance, one from each of k equal stretches.
  kDithering = 7,  ///< Levels, rounded by chance (QSGD, Alistarh et al., NIPS 2017; natural:
                   ///< Horvath et al., 2019).
};

/// How levels of kDithering lie: at equal distances, or at powers of two.
enum class DitherLevels : std::uint8_t { kLinear = 0, kNatural = 1 };
/// What the levels of kDithering are fractions of: the largest size of a part, or its l2 norm.
enum class DitherNorm : std::uint8_t { kMax = 0, kL2 = 1 };

/// A codec and its numbers. Those that a codec does not use are ignored.
struct CodecSpec {
  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
  Codec codec = Codec::kNone;
  /// kTopk, kRandomk: below 1 the fraction of a part's elements, else how many of each part.
  /// kDithering: levels, 1 to 127.
  double k = 0;
  bool scaling = false;         ///< kOnebit: signs times the mean of |x|, not times 1.
  bool error_feedback = false;  ///< What was lost is added to the next round's.
  bool momentum = false;        ///< Nesterov's, at the worker, before all else.
  double mu = 0.9;
  std::uint64_t seed = 0;  ///< kRandomk, kDithering.
  DitherLevels levels = DitherLevels::kLinear;
  DitherNorm norm = DitherNorm::kMax;

  /// True if anything is done to the bytes.
  bool lossy() const { return codec != Codec::kNone; }
  /// "topk(k=0.01) ef".
  std::string describe() const;
};

/// Most levels of kDithering: a level and a sign fit 8 bits.
inline constexpr unsigned kMaxDitherLevels = 127;

/// "none", "fp16", "bf16", "int8", "onebit", "topk", "randomk", "dithering"; else "unknown".
std::string_view name_of(Codec codec);

/// Why this is no codec, or ok: kInvalidArgument. Users and the wire meet the same check.
Status check(const CodecSpec& spec);

/// Keys and values as BytePS's users write them: compressor, k, scaling, ef, momentum, mu, seed,
/// partition, normalize, fp16; or under the names that BytePS itself sends to its servers
/// (compressor_type, compressor_k, ...). No compressor is no codec. An unknown key or value is
/// kInvalidArgument.
Result<CodecSpec> codec_from(const std::map<std::string, std::string>& parameters);
/// The same as one text: "onebit,scaling=true,ef=vanilla"; "none" or nothing is no codec.
Result<CodecSpec> codec_from(std::string_view text);

/// Which tensors get which codec where the program does not say: by name pattern, the first that
/// fits, and not below a size. Only f32 tensors ever get one.
class CodecPolicy {
 public:
  CodecPolicy() = default;  ///< Nobody gets one.
  /// "*.bias=none;*=topk,k=0.01,ef=vanilla": patterns with * and ?, each with a codec. One codec
  /// alone is for all names.
  static Result<CodecPolicy> parse(std::string_view text, std::uint64_t min_bytes);

  CodecSpec choose(std::string_view name, Dtype dtype, std::uint64_t bytes) const;

 private:
  std::vector<std::pair<std::string, CodecSpec>> rules_;
  std::uint64_t min_bytes_ = 0;
};

}  // namespace stretto
#pragma GCC visibility pop
