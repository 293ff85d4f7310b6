// SPDX-License-Identifier: Apache-2.0
// BLAKE2b derives a master key from the token, and crypto_kdf derives each pair's seed from that.
#include "van/zmq/curve_keys.h"

#include <sodium.h>

namespace stretto::zmq {
namespace {

// The token has other uses, and no two uses may share a key.
constexpr std::string_view kCurvePurpose = "stretto-zmq-curve-keys-1";
constexpr std::string_view kPlainPurpose = "stretto-zmq-plain-key-1";
constexpr std::array<char, crypto_kdf_CONTEXTBYTES> kContext = {'c', 'u', 'r', 'v',
                                                                'e', 's', 'e', 'd'};
enum SeedOf : std::uint64_t { kOfListeners = 1, kOfDialers = 2 };

Key hash_of(std::string_view token, std::string_view purpose) {
  Key key;
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(token.data()),
                     token.size(), reinterpret_cast<const unsigned char*>(purpose.data()),
                     purpose.size());
  return key;
}

KeyPair pair_from(const Key& master, std::uint64_t number) {
  static_assert(crypto_kdf_KEYBYTES == std::tuple_size_v<Key> &&
                crypto_box_SEEDBYTES == std::tuple_size_v<Key>);
  Key seed;
  crypto_kdf_derive_from_key(seed.data(), seed.size(), number, kContext.data(), master.data());
  KeyPair pair;
  crypto_box_seed_keypair(pair.open.data(), pair.secret.data(), seed.data());
  sodium_memzero(seed.data(), seed.size());
  return pair;
}

std::string digits_of(const Key& key) {
  std::array<char, 2 * std::tuple_size_v<Key> + 1> digits;
  sodium_bin2hex(digits.data(), digits.size(), key.data(), key.size());
  return {digits.data(), digits.size() - 1};
}

}  // namespace

Result<JobKeys> job_keys_from(std::string_view token) {
  if (sodium_init() < 0) {
    return Status(Code::kResource,
                  "wanted random numbers for the keys of links, and libsodium finds no source of "
                  "them; is /dev/urandom there?");
  }
  Key master = hash_of(token, kCurvePurpose);
  JobKeys keys{.listener = pair_from(master, kOfListeners),
               .dialer = pair_from(master, kOfDialers),
               .plain = digits_of(hash_of(token, kPlainPurpose))};
  sodium_memzero(master.data(), master.size());
  return keys;
}

}  // namespace stretto::zmq
