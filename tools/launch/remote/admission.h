// SPDX-License-Identifier: Apache-2.0
// Mutual authentication of a launcher and an agent that connects to it, by a secret that is not
// sent. Each end chooses a nonce; its proof is a keyed hash (crypto_auth of libsodium) over its
// role, the port and both nonces. A proof of one end is invalid for the other end.
//
//   agent --nonce--> launcher --nonce, proof--> agent --proof--> launcher
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/descriptor.h"
#include "tools/launch/protocol/agent_protocol.h"

namespace stretto::launch {

enum class AdmissionSide : std::uint8_t { kLauncher = 1, kAgent = 2 };

/// The nonces of one connection, known to both ends after their exchange.
struct AdmissionNonces {
  std::string agent;
  std::string launcher;
};

/// The key that proofs use, derived from the secret. Thread: any.
class AdmissionKey {
 public:
  static constexpr std::size_t kNonceBytes = 32;
  static constexpr std::size_t kProofBytes = 32;

  /// Errors: Resource, if the host has no source of random numbers.
  static Result<AdmissionKey> derived_from(const std::string& secret);

  /// `port`: where the launcher listens; a proof for one launcher is invalid for another launcher.
  std::string proof(AdmissionSide side, std::uint16_t port, const AdmissionNonces& nonces) const;
  /// Constant time, wherever `found` differs.
  bool accepts(const std::string& found, AdmissionSide side, std::uint16_t port,
               const AdmissionNonces& nonces) const;
  static std::string random_nonce();

 private:
  std::string key_;
};

/// The launcher's end of one connection.
/// Thread: loop.
class LauncherAdmission {
 public:
  LauncherAdmission(const AdmissionKey& key, std::uint16_t port) : key_(key), port_(port) {}

  bool is_passed() const { return state_ == State::kPassed; }
  /// Processes one frame of the agent; returns the frame to answer with, if any. Errors: Malformed
  /// for an unexpected frame, Mismatch for a wrong proof.
  Result<std::optional<AgentFrame>> take(const AgentFrame& frame);

 private:
  enum class State : std::uint8_t { kAwaitsNonce, kAwaitsProof, kPassed };

  const AdmissionKey& key_;
  const std::uint16_t port_;
  State state_ = State::kAwaitsNonce;
  AdmissionNonces nonces_;
};

/// The agent's end, over a connected socket: sends kGreeting, checks the launcher's proof of
/// `secret`, and sends the agent's own proof. Reads only the launcher's one frame. Blocks its
/// thread for at most `patience`. Errors: Network, Timeout, Malformed; Mismatch if the launcher's
/// proof is wrong.
Status admit_launcher(const Descriptor& socket, const std::string& secret, Duration patience,
                      const Clock& clock);

}  // namespace stretto::launch
