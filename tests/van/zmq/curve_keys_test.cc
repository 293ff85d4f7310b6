// SPDX-License-Identifier: Apache-2.0
// Keys that all processes of a job derive, and no other process.
#include "van/zmq/curve_keys.h"

#include <gtest/gtest.h>
#include <sodium.h>

#include <algorithm>
#include <set>

namespace stretto::zmq {
namespace {

std::string hex(const Key& key) {
  std::string text(2 * key.size() + 1, '\0');
  sodium_bin2hex(text.data(), text.size(), key.data(), key.size());
  text.pop_back();
  return text;
}

TEST(JobKeys, OfTheSameSecretAreTheSame) {
  const JobKeys one = job_keys_from("0123456789abcdef").or_exit();
  const JobKeys other = job_keys_from("0123456789abcdef").or_exit();
  EXPECT_EQ(one.listener.open, other.listener.open);
  EXPECT_EQ(one.listener.secret, other.listener.secret);
  EXPECT_EQ(one.dialer.open, other.dialer.open);
  EXPECT_EQ(one.dialer.secret, other.dialer.secret);
}

TEST(JobKeys, AreAllDifferentAndGoTogether) {
  std::set<Key> all;
  std::size_t count = 0;
  for (const char* secret : {"0123456789abcdef", "0123456789abcdeg", "0123456789abcdef "}) {
    const JobKeys keys = job_keys_from(secret).or_exit();
    for (const KeyPair& pair : {keys.listener, keys.dialer}) {
      Key open;
      ASSERT_EQ(crypto_scalarmult_base(open.data(), pair.secret.data()), 0);
      EXPECT_EQ(open, pair.open);
      all.insert({pair.open, pair.secret});
      count += 2;
    }
  }
  EXPECT_EQ(all.size(), count);
}

// Another release must derive the same keys, or its processes could not connect.
TEST(JobKeys, KeysFromSecretAreStable) {
  const JobKeys keys = job_keys_from("a secret that is told in a test").or_exit();
  EXPECT_EQ(hex(keys.listener.open),
            "77726be157d49261fd16210e328b00cd0e99841adedb890059487a2aae11e326");
  EXPECT_EQ(hex(keys.dialer.open),
            "5bf08486d9946ecd07273568ae402c6724e20fc54de7624c37307928d3802e18");
}

}  // namespace
}  // namespace stretto::zmq
