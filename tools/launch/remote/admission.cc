// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-512-256 of libsodium, with a key that BLAKE2b derives from the secret.
#include "tools/launch/remote/admission.h"

#include <errno.h>
#include <fmt/core.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "common/network/socket_address.h"
#include "tools/launch/remote/tcp.h"

namespace stretto::launch {
namespace {

using Kind = AgentFrame::Kind;

// The job's secret has other uses, and no two uses may share a key.
constexpr std::string_view kAdmissionPurpose = "stretto-launch-admission-1";
constexpr std::size_t kMostOfLauncher = 256;  // Bytes of its one frame.

static_assert(AdmissionKey::kProofBytes == crypto_auth_BYTES);

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string proven_text(AdmissionSide side, std::uint16_t port, const AdmissionNonces& nonces) {
  std::string text(1, static_cast<char>(side));
  text += static_cast<char>(port >> 8);
  text += static_cast<char>(port & 0xff);
  return text + nonces.agent + nonces.launcher;
}

Status out_of_place() {
  return {Code::kMalformed, "the peer sent another frame than the admission wants"};
}

int milliseconds_until(Time deadline, const Clock& clock) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now()).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

Status wait_for(const Descriptor& socket, short events, Time deadline, const Clock& clock) {
  pollfd look{socket.get(), events, 0};
  while (true) {
    const int ready = ::poll(&look, 1, milliseconds_until(deadline, clock));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return socket_error("no wait for the socket");
    if (clock.now() >= deadline) return {Code::kTimeout, "it sent no proof in time"};
  }
}

Status send_all(const Descriptor& socket, std::string_view bytes, Time deadline,
                const Clock& clock) {
  while (!bytes.empty()) {
    const ssize_t done = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (done > 0) bytes.remove_prefix(static_cast<std::size_t>(done));
    if (done < 0 && errno != EAGAIN && errno != EINTR) return socket_error("the connection ended");
    if (bytes.empty()) break;
    if (Status status = wait_for(socket, POLLOUT, deadline, clock); !status.ok()) return status;
  }
  return {};
}

Result<AgentFrame> receive_one(const Descriptor& socket, Time deadline, const Clock& clock) {
  AgentFrameReader reader(true, kMostOfLauncher);
  std::array<char, kMostOfLauncher> bytes;
  while (true) {
    if (Status status = wait_for(socket, POLLIN, deadline, clock); !status.ok()) return status;
    const ssize_t got = ::recv(socket.get(), bytes.data(), bytes.size(), 0);
    if (got == 0) return Status(Code::kNetwork, "the connection ended");
    if (got < 0 && errno != EAGAIN && errno != EINTR) return socket_error("the connection ended");
    if (got < 0) continue;
    reader.feed({bytes.data(), static_cast<std::size_t>(got)});
    Result<std::optional<AgentFrame>> frame = reader.next();
    if (!frame.ok()) return frame.status();
    if (!frame->has_value()) continue;
    if (!reader.is_empty()) return out_of_place();
    return **std::move(frame);
  }
}

}  // namespace

Result<AdmissionKey> AdmissionKey::derived_from(const std::string& secret) {
  if (sodium_init() < 0) {
    return Status(Code::kResource,
                  "wanted random numbers to admit nodes, and libsodium finds no source of them; is "
                  "/dev/urandom there?");
  }
  std::array<unsigned char, crypto_auth_KEYBYTES> key;
  crypto_generichash(key.data(), key.size(), bytes_of(secret), secret.size(),
                     bytes_of(kAdmissionPurpose), kAdmissionPurpose.size());
  AdmissionKey derived;
  derived.key_.assign(key.begin(), key.end());
  return derived;
}

std::string AdmissionKey::proof(AdmissionSide side, std::uint16_t port,
                                const AdmissionNonces& nonces) const {
  const std::string text = proven_text(side, port, nonces);
  std::array<unsigned char, crypto_auth_BYTES> proof;
  crypto_auth(proof.data(), bytes_of(text), text.size(), bytes_of(key_));
  return {proof.begin(), proof.end()};
}

bool AdmissionKey::accepts(const std::string& found, AdmissionSide side, std::uint16_t port,
                           const AdmissionNonces& nonces) const {
  if (found.size() != kProofBytes) return false;
  const std::string text = proven_text(side, port, nonces);
  return crypto_auth_verify(bytes_of(found), bytes_of(text), text.size(), bytes_of(key_)) == 0;
}

std::string AdmissionKey::random_nonce() {
  std::string nonce(kNonceBytes, '\0');
  randombytes_buf(nonce.data(), nonce.size());
  return nonce;
}

Result<std::optional<AgentFrame>> LauncherAdmission::take(const AgentFrame& frame) {
  switch (state_) {
    case State::kAwaitsNonce: {
      if (frame.kind != Kind::kNonce || frame.texts.size() != 1 ||
          frame.texts[0].size() != AdmissionKey::kNonceBytes) {
        return out_of_place();
      }
      nonces_ = {frame.texts[0], AdmissionKey::random_nonce()};
      state_ = State::kAwaitsProof;
      const std::string own = key_.proof(AdmissionSide::kLauncher, port_, nonces_);
      return std::optional<AgentFrame>({Kind::kProof, 0, 0, 0, {nonces_.launcher, own}});
    }
    case State::kAwaitsProof:
      if (frame.kind != Kind::kProof || frame.texts.size() != 1) return out_of_place();
      if (!key_.accepts(frame.texts[0], AdmissionSide::kAgent, port_, nonces_)) {
        return Status(Code::kMismatch, "the agent does not know the secret of this launch");
      }
      state_ = State::kPassed;
      return std::optional<AgentFrame>();
    case State::kPassed:
      break;
  }
  return out_of_place();
}

Status admit_launcher(const Descriptor& socket, const std::string& secret, Duration patience,
                      const Clock& clock) {
  const Result<AdmissionKey> key = AdmissionKey::derived_from(secret);
  if (!key.ok()) return key.status();
  const Time deadline = clock.now() + patience;
  const std::uint16_t port = SocketAddress::peer_of(socket.get()).port();
  AdmissionNonces nonces{AdmissionKey::random_nonce(), {}};
  const std::string words =
      std::string(kGreeting) + encoded({Kind::kNonce, 0, 0, 0, {nonces.agent}});
  if (Status status = send_all(socket, words, deadline, clock); !status.ok()) return status;
  const Result<AgentFrame> frame = receive_one(socket, deadline, clock);
  if (!frame.ok()) return frame.status();
  if (frame->kind != Kind::kProof || frame->texts.size() != 2 ||
      frame->texts[0].size() != AdmissionKey::kNonceBytes) {
    return out_of_place();
  }
  nonces.launcher = frame->texts[0];
  if (!key->accepts(frame->texts[1], AdmissionSide::kLauncher, port, nonces)) {
    return {Code::kMismatch, "it does not know the secret of this launch"};
  }
  const std::string own = key->proof(AdmissionSide::kAgent, port, nonces);
  return send_all(socket, encoded({Kind::kProof, 0, 0, 0, {own}}), deadline, clock);
}

}  // namespace stretto::launch
