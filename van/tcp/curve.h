// SPDX-License-Identifier: Apache-2.0
// The handshake of CURVE, ZMTP's mechanism for encrypted connections, at either end: HELLO,
// WELCOME, INITIATE, READY. Each end proves that it has the job's keys before the other spends
// more on it than this object, and both agree on keys of this connection alone, which end with it:
// who gets the job's keys later cannot read what was sent before.
// https://rfc.zeromq.org/spec/26/ and https://rfc.zeromq.org/spec/25/ are the source.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "van/tcp/curve_channel.h"
#include "van/tcp/curve_keys.h"

namespace stretto::tcp {

/// Longest command of a handshake that is listened to: an INITIATE, or a READY, with metadata.
inline constexpr std::size_t kMostCurveCommandBytes = 1024;

/// Thread: loop. Pure, but for random numbers.
class CurveHandshake {
 public:
  enum class Step : std::uint8_t {
    kGoesOn,  ///< A command of the far end is wanted.
    kDone,    ///< Messages follow, in boxes.
    kRefused  ///< It has other keys, or is at fault; nothing is to be made of what follows.
  };

  /// The types are those of ZMTP's sockets. Identity and types outlive this.
  CurveHandshake(const CurveIdentity& identity, CurveSide side, std::string_view our_type,
                 std::string_view far_type);
  ~CurveHandshake();
  CurveHandshake(const CurveHandshake&) = delete;
  CurveHandshake& operator=(const CurveHandshake&) = delete;

  /// What who connects says first: a command with its head.
  std::vector<std::byte> begin();
  /// Takes the body of the far end's next command, and appends what is to be answered, with its
  /// head, to `answer`.
  Step take(std::span<const std::byte> body, std::vector<std::byte>& answer);

  // Once it is done.
  CurveSealer sealer() const;
  CurveOpener opener() const;

 private:
  static constexpr std::size_t kCookieBytes = 96;
  enum class Wanted : std::uint8_t { kHello, kWelcome, kInitiate, kReady, kNothing };

  bool take_hello(std::span<const std::byte> body, std::vector<std::byte>& answer);
  bool take_welcome(std::span<const std::byte> body, std::vector<std::byte>& answer);
  bool take_initiate(std::span<const std::byte> body, std::vector<std::byte>& answer);
  bool take_ready(std::span<const std::byte> body);
  bool vouches(std::span<const std::byte> plain) const;
  bool is_next(std::uint64_t nonce);

  const CurveIdentity& identity_;
  const CurveSide side_;
  const std::string_view our_type_;
  const std::string_view far_type_;
  Wanted wanted_;
  CurveKeyPair ours_;                             // Of this connection.
  CurveKey far_{};                                // The far end's open one of it.
  CurveKey shared_{};                             // Of both.
  std::array<std::byte, kCookieBytes> cookie_{};  // Of the end that listens.
  std::uint64_t nonce_ = 1;                       // Our next.
  std::uint64_t far_nonce_ = 0;                   // The last that came.
};

}  // namespace stretto::tcp
