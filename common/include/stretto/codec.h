// SPDX-License-Identifier: Apache-2.0
// Compression of a tensor on the wire: which codec, and its parameters. Lossless unless a codec is
// selected. docs/COMPRESSION.md documents costs and savings. Public: installed with the worker API;
// servers use the same types.
//
// A codec encodes each part of a tensor separately, for f32 only. Workers encode what they push;
// servers decode it, add in f32, and in mode kSync with kSum or kMean encode the value too.
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

/// The encoding of a part's payload of n elements, and its size in bytes (formats: docs/WIRE.md).
/// The numbers are the wire's; they never change.
enum class Codec : std::uint8_t {
  kNone = 0,  ///< The elements themselves, 4n bytes.
  /// Rounded to IEEE 754 binary16, 2n bytes: 11 significant bits, infinite above 65,504.
  kFp16 = 1,
  /// Rounded to bfloat16, 2n bytes: 8 significant bits, in the range of f32.
  kBf16 = 2,
  /// A signed byte for each element and an f32 scale for each 256, about n bytes: the error is at
  /// most 1/254 of the largest of the 256.
  kInt8 = 3,
  /// The signs (Seide et al., INTERSPEECH 2014), and with `scaling` their mean absolute value: n/8
  /// bytes and 4.
  kOnebit = 4,
  /// The k elements of the largest absolute value with their indices, 8k bytes (Aji & Heafield,
  /// EMNLP 2017). The others count as 0.
  kTopk = 5,
  /// k elements at random, one from each of k equal ranges: 4k bytes and 8.
  kRandomk = 6,
  /// Stochastic quantization to `k` levels and a sign: n/4, n/2 or n bytes and 4 (QSGD, Alistarh et
  /// al., NIPS 2017; natural: Horvath et al., 2019).
  kDithering = 7,
};

/// Spacing of kDithering's levels: equal distances (QSGD), or powers of two (natural compression).
enum class DitherLevels : std::uint8_t { kLinear = 0, kNatural = 1 };
/// The unit of kDithering's levels: the largest absolute value in a part, or the part's l2 norm.
enum class DitherNorm : std::uint8_t { kMax = 0, kL2 = 1 };

/// A codec and its parameters. Parameters that a codec does not use are ignored, also when workers'
/// options are compared. check() documents the ranges.
struct CodecSpec {
  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
  Codec codec = Codec::kNone;
  /// kTopk, kRandomk: above 0; below 1 the fraction of a part's elements that is sent, otherwise
  /// their number per part. kDithering: number of levels, a whole number from 1 to 127.
  double k = 0;
  bool scaling = false;  ///< kOnebit: signs times the mean of |x|, not times 1.
  /// The encoding error is added to the next contribution (Seide et al., INTERSPEECH 2014). Takes
  /// memory of the tensor's size where it is encoded. With a codec only.
  bool error_feedback = false;
  /// Nesterov's momentum, at the worker, before error feedback and encoding. Takes memory of the
  /// tensor's size there. With a codec only.
  bool momentum = false;
  double mu = 0.9;  ///< Of the momentum: at least 0 and below 1.
  /// kRandomk, kDithering: seed of their random numbers. It gives the same bits on every machine.
  std::uint64_t seed = 0;
  DitherLevels levels = DitherLevels::kLinear;
  DitherNorm norm = DitherNorm::kMax;

  /// True if decoded values may differ from the originals: for all codecs but kNone.
  bool lossy() const { return codec != Codec::kNone; }
  /// The codec and its used parameters: "topk(k=0.01) ef".
  std::string describe() const;
};

/// Maximum of kDithering's levels: a level and a sign fit 8 bits.
inline constexpr unsigned kMaxDitherLevels = 127;

/// "none", "fp16", "bf16", "int8", "onebit", "topk", "randomk", "dithering"; "unknown" for a number
/// that is no Codec.
std::string_view name_of(Codec codec);

/// Ok, or kInvalidArgument with the cause: an unknown codec, k or mu out of range or not finite,
/// error feedback or momentum without a codec. The API and the wire use the same check.
Status check(const CodecSpec& spec);

/// Keys and values as users of BytePS write them: compressor, k, scaling, ef, momentum, mu, seed,
/// partition, normalize, fp16; or under the names that BytePS itself sends to its servers
/// (compressor_type, compressor_k, ...). An empty map is no codec. kInvalidArgument for an unknown
/// key or value, keys without a compressor, and fp16 next to another compressor.
Result<CodecSpec> codec_from(const std::map<std::string, std::string>& parameters);
/// The same as one text: "onebit,scaling=true,ef=vanilla"; "none" or an empty text is no codec. A
/// repeated key is kInvalidArgument.
Result<CodecSpec> codec_from(std::string_view text);

/// Codecs by tensor name where the program does not set one (STRETTO_CODEC): the first matching
/// pattern decides, above a minimum size. Only f32 tensors ever get a codec. Thread: any (a value).
class CodecPolicy {
 public:
  CodecPolicy() = default;  ///< No tensor gets a codec.
  /// "*.bias=none;*=topk,k=0.01,ef=vanilla": patterns with * and ?, each with a codec. A codec
  /// alone applies to all names. Tensors below `min_bytes` bytes get none. kInvalidArgument for an
  /// empty rule, a codec that codec_from() rejects, and more than 64 KiB of text.
  static Result<CodecPolicy> parse(std::string_view text, std::uint64_t min_bytes);

  /// The codec of a tensor with this name, type and size in bytes; kNone if no rule matches.
  CodecSpec choose(std::string_view name, Dtype dtype, std::uint64_t bytes) const;

 private:
  std::vector<std::pair<std::string, CodecSpec>> rules_;
  std::uint64_t min_bytes_ = 0;
};

}  // namespace stretto
#pragma GCC visibility pop
