// SPDX-License-Identifier: Apache-2.0
// BLAKE2b makes a key of the secret, and of that one seed for each of the pairs.
#include "van/tcp/curve_keys.h"

#include <sodium.h>

namespace stretto::tcp {
namespace {

// What the secret is used for here: it has other uses, and no two of them may have a key in common.
constexpr std::string_view kPurpose = "stretto-zmq-curve-keys-1";
constexpr std::array<char, crypto_kdf_CONTEXTBYTES> kContext = {'c', 'u', 'r', 'v',
                                                                'e', 's', 'e', 'd'};
enum SeedOf : std::uint64_t { kOfListeners = 1, kOfDialers = 2 };

CurveKeyPair pair_from(const CurveKey& master, std::uint64_t number) {
  static_assert(crypto_kdf_KEYBYTES == std::tuple_size_v<CurveKey> &&
                crypto_box_SEEDBYTES == std::tuple_size_v<CurveKey>);
  CurveKey seed;
  crypto_kdf_derive_from_key(seed.data(), seed.size(), number, kContext.data(), master.data());
  CurveKeyPair pair;
  crypto_box_seed_keypair(pair.open.data(), pair.secret.data(), seed.data());
  sodium_memzero(seed.data(), seed.size());
  return pair;
}

}  // namespace

Result<CurveIdentity> curve_identity_from(std::string_view secret) {
  if (sodium_init() < 0) {
    return Status(Code::kResource,
                  "wanted random numbers for encryption, and libsodium finds no source of them; is "
                  "/dev/urandom there?");
  }
  CurveKey master;
  crypto_generichash(master.data(), master.size(),
                     reinterpret_cast<const unsigned char*>(secret.data()), secret.size(),
                     reinterpret_cast<const unsigned char*>(kPurpose.data()), kPurpose.size());
  CurveIdentity identity{.listener = pair_from(master, kOfListeners),
                         .dialer = pair_from(master, kOfDialers)};
  sodium_memzero(master.data(), master.size());
  return identity;
}

}  // namespace stretto::tcp
