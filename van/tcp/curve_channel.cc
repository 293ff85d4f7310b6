// SPDX-License-Identifier: Apache-2.0
// crypto_box in pieces. XSalsa20 is Salsa20 under a key that is made of the shared one and of the
// first 16 bytes of the nonce; these are the same in all of a direction's messages, so that key is
// made once. The first 32 bytes of the stream are Poly1305's key, the next are the flags' and the
// first bytes', and the rest follows from block 1 on.
#include "van/tcp/curve_channel.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/check.h"

namespace stretto::tcp {
namespace {

constexpr std::string_view kSealName = "\x07MESSAGE";
constexpr std::string_view kDialersPrefix = "CurveZMQMESSAGEC";
constexpr std::string_view kListenersPrefix = "CurveZMQMESSAGES";
constexpr std::size_t kSealNonceBytes = 8;
constexpr std::size_t kSealTagBytes = crypto_onetimeauth_poly1305_BYTES;
constexpr std::size_t kNonceAt = kSealName.size();
constexpr std::size_t kTagAt = kNonceAt + kSealNonceBytes;
constexpr std::size_t kFlagsAt = kTagAt + kSealTagBytes;
static_assert(kFlagsAt + 1 == kSealBytes);
constexpr std::size_t kStreamBlockBytes = 64;
constexpr std::size_t kAuthKeyBytes = crypto_onetimeauth_poly1305_KEYBYTES;
// Of a part, in the block that begins with Poly1305's key and goes on with the flags'.
constexpr std::size_t kFirstBytes = kStreamBlockBytes - kAuthKeyBytes - 1;
// So that what was encrypted is still in the cache when it is authenticated. Whole blocks.
constexpr std::size_t kPieceBytes = 16 << 10;

const std::uint8_t* octets(const std::byte* at) {
  return reinterpret_cast<const std::uint8_t*>(at);
}
std::uint8_t* octets(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }

CurveKey stream_key(const CurveKey& shared, CurveSide sender) {
  const std::string_view prefix = sender == CurveSide::kDialer ? kDialersPrefix : kListenersPrefix;
  static_assert(kDialersPrefix.size() == crypto_core_hsalsa20_INPUTBYTES);
  CurveKey key;
  crypto_core_hsalsa20(key.data(), reinterpret_cast<const unsigned char*>(prefix.data()),
                       shared.data(), nullptr);
  return key;
}

std::uint64_t nonce_at(const std::byte* at) {
  std::uint64_t nonce = 0;
  for (std::size_t i = 0; i < kSealNonceBytes; ++i) {
    nonce = nonce << 8 | std::to_integer<std::uint64_t>(at[i]);
  }
  return nonce;
}

void write_nonce(std::byte* at, std::uint64_t nonce) {
  for (std::size_t i = 0; i < kSealNonceBytes; ++i) {
    at[i] = static_cast<std::byte>(nonce >> (8 * (kSealNonceBytes - 1 - i)));
  }
}

// One box: the stream, and what is authenticated so far.
class PartBox {
 public:
  PartBox(const CurveKey& stream, const std::byte* nonce) : stream_(stream), nonce_(octets(nonce)) {
    crypto_stream_salsa20(block_.data(), block_.size(), nonce_, stream_.data());
    crypto_onetimeauth_poly1305_init(&auth_, block_.data());
  }
  ~PartBox() {
    sodium_memzero(block_.data(), block_.size());
    sodium_memzero(&auth_, sizeof auth_);
  }
  PartBox(const PartBox&) = delete;
  PartBox& operator=(const PartBox&) = delete;

  std::byte apply_to_flags(std::byte flags) const {
    return flags ^ static_cast<std::byte>(block_[kAuthKeyBytes]);
  }
  void authenticate(const std::byte* sealed, std::size_t bytes) {
    crypto_onetimeauth_poly1305_update(&auth_, octets(sealed), bytes);
  }
  /// `seals`: what is written is authenticated, else what is read.
  void apply(std::span<const std::byte> from, std::byte* to, bool seals) {
    const std::size_t first = std::min(from.size(), kFirstBytes);
    if (!seals) authenticate(from.data(), first);
    for (std::size_t i = 0; i < first; ++i) {
      to[i] = from[i] ^ static_cast<std::byte>(block_[kAuthKeyBytes + 1 + i]);
    }
    if (seals) authenticate(to, first);
    std::uint64_t block = 1;
    for (std::size_t at = first; at < from.size();) {
      const std::size_t count = std::min(kPieceBytes, from.size() - at);
      if (!seals) authenticate(from.data() + at, count);
      crypto_stream_salsa20_xor_ic(octets(to + at), octets(from.data() + at), count, nonce_, block,
                                   stream_.data());
      if (seals) authenticate(to + at, count);
      at += count;
      block += kPieceBytes / kStreamBlockBytes;
    }
  }
  void write_tag(std::byte* at) { crypto_onetimeauth_poly1305_final(&auth_, octets(at)); }
  bool has_tag(const std::byte* at) {
    std::array<std::byte, kSealTagBytes> tag;
    write_tag(tag.data());
    return crypto_verify_16(octets(tag.data()), octets(at)) == 0;
  }

 private:
  const CurveKey& stream_;
  const std::uint8_t* nonce_;
  std::array<std::uint8_t, kStreamBlockBytes> block_;
  crypto_onetimeauth_poly1305_state auth_;
};

}  // namespace

CurveSealer::CurveSealer(const CurveKey& shared, CurveSide sender, std::uint64_t nonce)
    : stream_(stream_key(shared, sender)), nonce_(nonce) {}

CurveSealer::~CurveSealer() { sodium_memzero(stream_.data(), stream_.size()); }

void CurveSealer::seal(std::uint8_t flags, std::span<const std::byte> part,
                       std::span<std::byte> sealed) {
  STRETTO_CHECK(sealed.size() == part.size() + kSealBytes && nonce_ != 0);
  std::byte* const at = sealed.data();
  std::memcpy(at, kSealName.data(), kSealName.size());
  write_nonce(at + kNonceAt, nonce_++);
  PartBox box(stream_, at + kNonceAt);
  at[kFlagsAt] = box.apply_to_flags(std::byte{flags});
  box.authenticate(at + kFlagsAt, 1);
  box.apply(part, at + kSealBytes, true);
  box.write_tag(at + kTagAt);
}

CurveOpener::CurveOpener(const CurveKey& shared, CurveSide sender, std::uint64_t last)
    : stream_(stream_key(shared, sender)), last_(last) {}

CurveOpener::~CurveOpener() { sodium_memzero(stream_.data(), stream_.size()); }

std::optional<std::uint8_t> CurveOpener::open(std::span<const std::byte, kSealBytes> start,
                                              std::span<const std::byte> part,
                                              std::span<std::byte> into) {
  STRETTO_CHECK(into.size() == part.size());
  const std::uint64_t nonce = nonce_at(start.data() + kNonceAt);
  if (std::memcmp(start.data(), kSealName.data(), kSealName.size()) != 0 || nonce != last_ + 1) {
    return std::nullopt;
  }
  PartBox box(stream_, start.data() + kNonceAt);
  box.authenticate(start.data() + kFlagsAt, 1);
  box.apply(part, into.data(), false);
  if (!box.has_tag(start.data() + kTagAt)) return std::nullopt;
  last_ = nonce;
  return std::to_integer<std::uint8_t>(box.apply_to_flags(start[kFlagsAt]));
}

}  // namespace stretto::tcp
