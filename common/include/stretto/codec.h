// SPDX-License-Identifier: Apache-2.0
// How a tensor is made smaller on the wire: which codec, and its numbers. Lossless unless one is
// asked for. docs/COMPRESSION.md says what each costs and saves. Public: installed with the worker
// API; the servers speak the same words.
//
// A codec works on each part of a tensor by itself, for f32 only. Workers encode what they push;
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

/// What a part's payload of n elements is encoded as, and how many bytes that takes (docs/WIRE.md
/// has the formats). The numbers are the wire's; they never change.
enum class Codec : std::uint8_t {
  kNone = 0,  ///< The elements themselves, 4n bytes.
  /// Rounded to IEEE 754 binary16, 2n bytes: 11 bits are kept, and above 65,504 it is infinite.
  kFp16 = 1,
  /// Rounded to bfloat16, 2n bytes: 8 bits are kept, in the range of f32.
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

/// How levels of kDithering are spaced: at equal distances (QSGD), or at powers of two (natural
/// compression).
enum class DitherLevels : std::uint8_t { kLinear = 0, kNatural = 1 };
/// What the levels of kDithering are fractions of: the largest absolute value in a part, or the
/// part's l2 norm.
enum class DitherNorm : std::uint8_t { kMax = 0, kL2 = 1 };

/// A codec and its numbers. Those that a codec does not use are ignored, also when workers' options
/// are compared. check() has the ranges.
struct CodecSpec {
  friend bool operator==(const CodecSpec&, const CodecSpec&) = default;
  Codec codec = Codec::kNone;
  /// kTopk, kRandomk: above 0; below 1 it is the fraction of a part's elements that is sent, from 1
  /// on how many of each part. kDithering: number of levels, a whole number from 1 to 127.
  double k = 0;
  bool scaling = false;  ///< kOnebit: signs times the mean of |x|, not times 1.
  /// What encoding lost is added to the next contribution (Seide et al., INTERSPEECH 2014). Takes
  /// memory of the tensor's size where it is encoded. With a codec only.
  bool error_feedback = false;
  /// Nesterov's momentum, at the worker, before error feedback and encoding. Takes memory of the
  /// tensor's size there. With a codec only.
  bool momentum = false;
  double mu = 0.9;  ///< Of the momentum: at least 0 and below 1.
  /// kRandomk, kDithering: of their random numbers. One seed gives the same bits on every machine.
  std::uint64_t seed = 0;
  DitherLevels levels = DitherLevels::kLinear;
  DitherNorm norm = DitherNorm::kMax;

  /// True if what arrives may differ from what was sent: for all codecs but kNone.
  bool lossy() const { return codec != Codec::kNone; }
  /// The codec and the numbers that it uses: "topk(k=0.01) ef".
  std::string describe() const;
};

/// Most levels of kDithering: a level and a sign fit 8 bits.
inline constexpr unsigned kMaxDitherLevels = 127;

/// "none", "fp16", "bf16", "int8", "onebit", "topk", "randomk", "dithering"; "unknown" for a number
/// that is no Codec.
std::string_view name_of(Codec codec);

/// Ok, or kInvalidArgument with what is wrong: an unknown codec, k or mu out of range or not
/// finite, error feedback or momentum without a codec. Users and the wire meet the same check.
Status check(const CodecSpec& spec);

/// Keys and values as BytePS's users write them: compressor, k, scaling, ef, momentum, mu, seed,
/// partition, normalize, fp16; or under the names that BytePS itself sends to its servers
/// (compressor_type, compressor_k, ...). Nothing at all is no codec. kInvalidArgument for an
/// unknown key or value, keys without a compressor, and fp16 beside another compressor.
Result<CodecSpec> codec_from(const std::map<std::string, std::string>& parameters);
/// The same as one text: "onebit,scaling=true,ef=vanilla"; "none" or nothing is no codec. A key
/// that occurs twice is kInvalidArgument.
Result<CodecSpec> codec_from(std::string_view text);

/// Which tensors get which codec where the program does not say (STRETTO_CODEC): by name pattern,
/// the first that matches, and not below a size. Only f32 tensors ever get one. Thread: any (a
/// value).
class CodecPolicy {
 public:
  CodecPolicy() = default;  ///< Nobody gets one.
  /// "*.bias=none;*=topk,k=0.01,ef=vanilla": patterns with * and ?, each with a codec. One codec
  /// alone is for all names. Tensors below `min_bytes` bytes get none. kInvalidArgument for an
  /// empty rule, a codec that codec_from() refuses, and more than 64 KiB of text.
  static Result<CodecPolicy> parse(std::string_view text, std::uint64_t min_bytes);

  /// The codec of a tensor with this name, type and size in bytes; kNone if no rule matches.
  CodecSpec choose(std::string_view name, Dtype dtype, std::uint64_t bytes) const;

 private:
  std::vector<std::pair<std::string, CodecSpec>> rules_;
  std::uint64_t min_bytes_ = 0;
};

}  // namespace stretto
#pragma GCC visibility pop
