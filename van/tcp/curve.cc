// SPDX-License-Identifier: Apache-2.0
// One function for each command that comes. Their layouts are fixed but for the metadata, which is
// the end of INITIATE and of READY.
#include "van/tcp/curve.h"

#include <sodium.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "common/check.h"
#include "van/tcp/zmtp.h"

namespace stretto::tcp {
namespace {

using CommandBytes = std::vector<std::byte>;
using CommandView = std::span<const std::byte>;

constexpr std::size_t kKeyBytes = std::tuple_size_v<CurveKey>;
constexpr std::size_t kBoxTagBytes = crypto_box_MACBYTES;
constexpr std::size_t kShortNonceBytes = 8;
constexpr std::size_t kLongNonceBytes = 16;
static_assert(kKeyBytes == crypto_box_PUBLICKEYBYTES && kKeyBytes == crypto_box_SECRETKEYBYTES &&
              kKeyBytes == crypto_box_BEFORENMBYTES);

constexpr std::string_view kHello = "\x05HELLO";
constexpr std::string_view kWelcome = "\x07WELCOME";
constexpr std::string_view kInitiate = "\x08INITIATE";
constexpr std::string_view kReady = "\x05READY";
constexpr std::string_view kCurveVersion("\x01\x00", 2);
constexpr std::size_t kHelloPaddingBytes = 72;  // A HELLO is as long as what it is answered with.
constexpr std::size_t kSignatureBytes = 64;     // Zeroes in a box.
constexpr std::size_t kVouchBytes = kLongNonceBytes + 2 * kKeyBytes + kBoxTagBytes;

using BoxNonce = std::array<std::uint8_t, crypto_box_NONCEBYTES>;

std::uint8_t* raw(std::byte* at) { return reinterpret_cast<std::uint8_t*>(at); }
const std::uint8_t* raw(const std::byte* at) { return reinterpret_cast<const std::uint8_t*>(at); }

void append_to(CommandBytes& to, std::string_view text) {
  const CommandView bytes = std::as_bytes(std::span(text));
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void append_to(CommandBytes& to, CommandView bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}
void append_to(CommandBytes& to, const CurveKey& key) {
  append_to(to, std::as_bytes(std::span(key)));
}

std::uint64_t nonce_in(CommandView bytes) {
  std::uint64_t value = 0;
  for (const std::byte byte : bytes) value = value << 8 | std::to_integer<std::uint64_t>(byte);
  return value;
}

std::array<std::byte, kShortNonceBytes> bytes_of(std::uint64_t nonce) {
  std::array<std::byte, kShortNonceBytes> bytes;
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(nonce >> 56);
    nonce <<= 8;
  }
  return bytes;
}

BoxNonce nonce_of(std::string_view prefix, CommandView rest) {
  BoxNonce nonce;
  STRETTO_CHECK(prefix.size() + rest.size() == nonce.size());
  std::memcpy(nonce.data(), prefix.data(), prefix.size());
  std::memcpy(nonce.data() + prefix.size(), rest.data(), rest.size());
  return nonce;
}

// Puts bytes one after the other out of a command whose length has been checked.
class CommandReader {
 public:
  explicit CommandReader(CommandView bytes) : bytes_(bytes) {}
  CommandView take(std::size_t bytes) {
    const CommandView taken = bytes_.first(bytes);
    bytes_ = bytes_.subspan(bytes);
    return taken;
  }
  CommandView rest() const { return bytes_; }

 private:
  CommandView bytes_;
};

CurveKey key_in(CommandView bytes) {
  CurveKey key;
  STRETTO_CHECK(bytes.size() == key.size());
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

bool same_bytes(CommandView a, CommandView b) {
  return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

// True if nobody chose a key of few outcomes.
bool agree(CurveKey& shared, const CurveKey& far, const CurveKey& secret) {
  return crypto_box_beforenm(shared.data(), far.data(), secret.data()) == 0;
}

void append_box(CommandBytes& to, CommandView plain, const BoxNonce& nonce,
                const CurveKey& shared) {
  CommandBytes box(plain.size() + kBoxTagBytes);
  crypto_box_easy_afternm(raw(box.data()), raw(plain.data()), plain.size(), nonce.data(),
                          shared.data());
  append_to(to, box);
}

// False: somebody else made it, or it was changed.
bool open_box(CommandBytes& plain, CommandView box, const BoxNonce& nonce, const CurveKey& shared) {
  if (box.size() < kBoxTagBytes) return false;
  plain.resize(box.size() - kBoxTagBytes);
  return crypto_box_open_easy_afternm(raw(plain.data()), raw(box.data()), box.size(), nonce.data(),
                                      shared.data()) == 0;
}

bool is_command(CommandView body, std::string_view name) {
  return body.size() >= name.size() && std::memcmp(body.data(), name.data(), name.size()) == 0;
}

// The head of a command, before it.
CommandBytes with_head(CommandView body) {
  CommandBytes whole = command_head(body.size());
  append_to(whole, body);
  return whole;
}

}  // namespace

CurveHandshake::CurveHandshake(const CurveIdentity& identity, CurveSide side,
                               std::string_view our_type, std::string_view far_type)
    : identity_(identity),
      side_(side),
      our_type_(our_type),
      far_type_(far_type),
      wanted_(side == CurveSide::kDialer ? Wanted::kWelcome : Wanted::kHello) {}

CurveHandshake::~CurveHandshake() {
  sodium_memzero(ours_.secret.data(), ours_.secret.size());
  sodium_memzero(shared_.data(), shared_.size());
}

// Nonces of one end grow throughout the connection.
bool CurveHandshake::is_next(std::uint64_t nonce) {
  if (nonce <= far_nonce_) return false;
  far_nonce_ = nonce;
  return true;
}

CommandBytes CurveHandshake::begin() {
  STRETTO_CHECK(side_ == CurveSide::kDialer && nonce_ == 1);
  crypto_box_keypair(ours_.open.data(), ours_.secret.data());
  CurveKey with_listener;
  const bool agreed = agree(with_listener, identity_.listener.open, ours_.secret);
  STRETTO_CHECK(agreed);  // The job's key is a good one.
  CommandBytes body;
  append_to(body, kHello);
  append_to(body, kCurveVersion);
  body.resize(body.size() + kHelloPaddingBytes);
  append_to(body, ours_.open);
  const auto nonce = bytes_of(nonce_++);
  append_to(body, CommandView(nonce));
  const std::array<std::byte, kSignatureBytes> zeroes{};
  append_box(body, zeroes, nonce_of("CurveZMQHELLO---", nonce), with_listener);
  sodium_memzero(with_listener.data(), with_listener.size());
  return with_head(body);
}

CurveHandshake::Step CurveHandshake::take(CommandView body, CommandBytes& answer) {
  bool good = false;
  switch (wanted_) {
    case Wanted::kHello:
      good = take_hello(body, answer);
      wanted_ = Wanted::kInitiate;
      break;
    case Wanted::kWelcome:
      good = take_welcome(body, answer);
      wanted_ = Wanted::kReady;
      break;
    case Wanted::kInitiate:
      good = take_initiate(body, answer);
      wanted_ = Wanted::kNothing;
      break;
    case Wanted::kReady:
      good = take_ready(body);
      wanted_ = Wanted::kNothing;
      break;
    case Wanted::kNothing:
      break;
  }
  if (!good) {
    wanted_ = Wanted::kNothing;
    return Step::kRefused;
  }
  return wanted_ == Wanted::kNothing ? Step::kDone : Step::kGoesOn;
}

// Only who knows the open key of those who listen can make its box, and that is told to nobody but
// the job's processes.
bool CurveHandshake::take_hello(CommandView body, CommandBytes& answer) {
  constexpr std::size_t kSize = kHello.size() + kCurveVersion.size() + kHelloPaddingBytes +
                                kKeyBytes + kShortNonceBytes + kSignatureBytes + kBoxTagBytes;
  if (body.size() != kSize || !is_command(body, kHello)) return false;
  CommandReader reader(body.subspan(kHello.size()));
  if (!same_bytes(reader.take(kCurveVersion.size()), std::as_bytes(std::span(kCurveVersion))))
    return false;
  reader.take(kHelloPaddingBytes);
  far_ = key_in(reader.take(kKeyBytes));
  const CommandView nonce = reader.take(kShortNonceBytes);
  CurveKey with_far;
  CommandBytes zeroes;
  const bool good = is_next(nonce_in(nonce)) && agree(with_far, far_, identity_.listener.secret) &&
                    open_box(zeroes, reader.rest(), nonce_of("CurveZMQHELLO---", nonce), with_far);
  if (!good) return false;
  crypto_box_keypair(ours_.open.data(), ours_.secret.data());  // For nobody else.
  randombytes_buf(cookie_.data(), cookie_.size());
  CommandBytes plain;
  append_to(plain, ours_.open);
  append_to(plain, CommandView(cookie_));
  std::array<std::byte, kLongNonceBytes> chance;
  randombytes_buf(chance.data(), chance.size());
  CommandBytes welcome;
  append_to(welcome, kWelcome);
  append_to(welcome, CommandView(chance));
  append_box(welcome, plain, nonce_of("WELCOME-", chance), with_far);
  sodium_memzero(with_far.data(), with_far.size());
  append_to(answer, with_head(welcome));
  return true;
}

bool CurveHandshake::take_welcome(CommandView body, CommandBytes& answer) {
  constexpr std::size_t kSize =
      kWelcome.size() + kLongNonceBytes + kKeyBytes + kCookieBytes + kBoxTagBytes;
  if (body.size() != kSize || !is_command(body, kWelcome)) return false;
  CommandReader reader(body.subspan(kWelcome.size()));
  const CommandView chance = reader.take(kLongNonceBytes);
  CurveKey with_listener;
  CommandBytes plain;
  if (!agree(with_listener, identity_.listener.open, ours_.secret) ||
      !open_box(plain, reader.rest(), nonce_of("WELCOME-", chance), with_listener)) {
    return false;
  }
  far_ = key_in(CommandView(plain).first(kKeyBytes));
  // Of the job's keys, that this connection's key is ours.
  std::array<std::byte, kLongNonceBytes> own_chance;
  randombytes_buf(own_chance.data(), own_chance.size());
  CurveKey vouching;
  if (!agree(shared_, far_, ours_.secret) || !agree(vouching, far_, identity_.dialer.secret)) {
    return false;
  }
  CommandBytes vouched;
  append_to(vouched, ours_.open);
  append_to(vouched, identity_.listener.open);
  CommandBytes said;
  append_to(said, identity_.dialer.open);
  append_to(said, CommandView(own_chance));
  append_box(said, vouched, nonce_of("VOUCH---", own_chance), vouching);
  sodium_memzero(vouching.data(), vouching.size());
  append_to(said, our_metadata(our_type_));
  CommandBytes initiate;
  append_to(initiate, kInitiate);
  append_to(initiate, CommandView(plain).subspan(kKeyBytes));
  const auto nonce = bytes_of(nonce_++);
  append_to(initiate, CommandView(nonce));
  append_box(initiate, said, nonce_of("CurveZMQINITIATE", nonce), shared_);
  append_to(answer, with_head(initiate));
  return true;
}

// The job's dialers alone can make the vouch, and it is for this connection and this listener.
bool CurveHandshake::vouches(CommandView plain) const {
  CommandReader reader(plain);
  const CommandView dialer = reader.take(kKeyBytes);
  if (!same_bytes(dialer, std::as_bytes(std::span(identity_.dialer.open)))) return false;
  const CommandView chance = reader.take(kLongNonceBytes);
  CurveKey vouching;
  CommandBytes vouched;
  return agree(vouching, identity_.dialer.open, ours_.secret) &&
         open_box(vouched, reader.rest(), nonce_of("VOUCH---", chance), vouching) &&
         same_bytes(CommandView(vouched).first(kKeyBytes), std::as_bytes(std::span(far_))) &&
         same_bytes(CommandView(vouched).subspan(kKeyBytes),
                    std::as_bytes(std::span(identity_.listener.open)));
}

bool CurveHandshake::take_initiate(CommandView body, CommandBytes& answer) {
  constexpr std::size_t kLeast =
      kInitiate.size() + kCookieBytes + kShortNonceBytes + kBoxTagBytes + kKeyBytes + kVouchBytes;
  if (body.size() < kLeast || !is_command(body, kInitiate)) return false;
  CommandReader reader(body.subspan(kInitiate.size()));
  if (!same_bytes(reader.take(kCookieBytes), cookie_)) return false;
  const CommandView nonce = reader.take(kShortNonceBytes);
  CommandBytes plain;
  const bool good = is_next(nonce_in(nonce)) && agree(shared_, far_, ours_.secret) &&
                    open_box(plain, reader.rest(), nonce_of("CurveZMQINITIATE", nonce), shared_) &&
                    vouches(CommandView(plain).first(kKeyBytes + kVouchBytes)) &&
                    is_metadata(CommandView(plain).subspan(kKeyBytes + kVouchBytes), far_type_);
  if (!good) return false;
  CommandBytes ready;
  append_to(ready, kReady);
  const auto own_nonce = bytes_of(nonce_++);
  append_to(ready, CommandView(own_nonce));
  append_box(ready, our_metadata(our_type_), nonce_of("CurveZMQREADY---", own_nonce), shared_);
  append_to(answer, with_head(ready));
  return true;
}

bool CurveHandshake::take_ready(CommandView body) {
  if (body.size() < kReady.size() + kShortNonceBytes || !is_command(body, kReady)) return false;
  CommandReader reader(body.subspan(kReady.size()));
  const CommandView nonce = reader.take(kShortNonceBytes);
  CommandBytes metadata;
  return is_next(nonce_in(nonce)) &&
         open_box(metadata, reader.rest(), nonce_of("CurveZMQREADY---", nonce), shared_) &&
         is_metadata(metadata, far_type_);
}

CurveSealer CurveHandshake::sealer() const { return {shared_, side_, nonce_}; }

CurveOpener CurveHandshake::opener() const {
  const bool dials = side_ == CurveSide::kDialer;
  return {shared_, dials ? CurveSide::kListener : CurveSide::kDialer, far_nonce_};
}

}  // namespace stretto::tcp
