// SPDX-License-Identifier: Apache-2.0
// The mechanisms NULL, PLAIN and CURVE of libzmq.
#include "van/zmq/mechanism.h"

#include <fmt/core.h>

#include <cstring>

#include "van/zmq/zap_handler.h"

namespace stretto::zmq {
namespace {

constexpr std::string_view kAlike =
    "give every process the same STRETTO_TRANSPORT, STRETTO_ENCRYPT and STRETTO_JOB_TOKEN, as "
    "stretto-launch does, and check the address";

std::string_view kind_of(ZmqMechanism mechanism) {
  switch (mechanism) {
    case ZmqMechanism::kNull:
      return "a plain connection (NULL)";
    case ZmqMechanism::kPlain:
      return "a plain connection (PLAIN)";
    case ZmqMechanism::kCurve:
      return "an encrypted connection (CURVE)";
  }
  return "a connection";
}

void set_pair(ZmqSocket& socket, const KeyPair& pair) {
  socket.set_bytes(ZMQ_CURVE_PUBLICKEY, pair.open.data(), pair.open.size());
  socket.set_bytes(ZMQ_CURVE_SECRETKEY, pair.secret.data(), pair.secret.size());
}

}  // namespace

void set_listener_keys(ZmqSocket& socket, const ZmqOptions& options) {
  if (options.mechanism == ZmqMechanism::kNull) return;
  socket.set_bytes(ZMQ_ZAP_DOMAIN, kZapDomain.data(), kZapDomain.size());
  if (options.mechanism == ZmqMechanism::kPlain) {
    socket.set(ZMQ_PLAIN_SERVER, 1);
  } else {
    socket.set(ZMQ_CURVE_SERVER, 1);
    set_pair(socket, options.keys->listener);
  }
}

void set_dialer_keys(ZmqSocket& socket, const ZmqOptions& options) {
  if (options.mechanism == ZmqMechanism::kNull) return;
  const JobKeys& keys = *options.keys;
  if (options.mechanism == ZmqMechanism::kPlain) {
    socket.set_bytes(ZMQ_PLAIN_USERNAME, kPlainName.data(), kPlainName.size());
    socket.set_bytes(ZMQ_PLAIN_PASSWORD, keys.plain.data(), keys.plain.size());
  } else {
    set_pair(socket, keys.dialer);
    const Key& far = keys.listener.open;
    socket.set_bytes(ZMQ_CURVE_SERVERKEY, far.data(), far.size());
  }
}

Status why_refused(const Monitor::Event& event, ZmqMechanism mechanism,
                   const std::string& address) {
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL &&
      event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
    return {Code::kMalformed, fmt::format("wanted {}, and what listens at {} wants another: {}",
                                          kind_of(mechanism), address, kAlike)};
  }
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
    return {Code::kMalformed,
            fmt::format("wanted a connection by this job's key, and what listens at {} has another "
                        "key: {}",
                        address, kAlike)};
  }
  return handshake_ended(mechanism, address);
}

// The peer may have closed the connection before its own greeting arrived, or have another
// protocol, whose greeting libzmq drops silently.
Status handshake_ended(ZmqMechanism mechanism, const std::string& address) {
  const bool encrypts = mechanism == ZmqMechanism::kCurve;
  return {encrypts ? Code::kMalformed : Code::kNetwork,
          fmt::format("wanted {}, and what listens at {} ended the handshake: it {}, or was too "
                      "busy: {}",
                      kind_of(mechanism), address,
                      encrypts ? "has another key or does not encrypt"
                               : "encrypts, has another STRETTO_TRANSPORT, or is no Stretto node",
                      kAlike)};
}

std::string fault_of_client(const Monitor::Event& event) {
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) return "it has another key";
  if (event.kind == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
    return event.value == 0
               ? "its handshake ended early"
               : fmt::format("its handshake ended early ({})", zmq_strerror(event.value));
  }
  if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH) {
    return "it wants another mechanism: is it encrypted where this is not, or the reverse?";
  }
  if (event.value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC) {
    return "it has another key, or its bytes were changed on the way";
  }
  return "its handshake is not of this protocol";
}

}  // namespace stretto::zmq
