// SPDX-License-Identifier: Apache-2.0
// libzmq for the raw measurements: owners, and options whose refusal would be our bug. Separate
// from the transport's own, so that Stretto's overhead cannot hide in the limit.
#pragma once

#include <fmt/core.h>
#include <zmq.h>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/check.h"
#include "stretto/status.h"

namespace stretto::bench {

struct EndContext {
  void operator()(void* context) const { zmq_ctx_term(context); }
};
using ZmqContext = std::unique_ptr<void, EndContext>;

struct CloseSocket {
  void operator()(void* socket) const { zmq_close(socket); }
};
using ZmqSocket = std::unique_ptr<void, CloseSocket>;

inline ZmqContext open_context() {
  ZmqContext context(zmq_ctx_new());
  STRETTO_CHECK(context != nullptr);
  return context;
}

/// A socket that holds at most `frames` messages at each end, and drops queued ones when it closes.
/// Calls take at most ten seconds.
inline ZmqSocket open_socket(const ZmqContext& context, int type, int frames) {
  ZmqSocket socket(zmq_socket(context.get(), type));
  STRETTO_CHECK(socket != nullptr);
  const auto set = [&socket](int option, int value) {
    STRETTO_CHECK(zmq_setsockopt(socket.get(), option, &value, sizeof value) == 0);
  };
  set(ZMQ_LINGER, 0);
  set(ZMQ_SNDHWM, frames);
  set(ZMQ_RCVHWM, frames);
  set(ZMQ_SNDTIMEO, 10'000);
  set(ZMQ_RCVTIMEO, 10'000);
  return socket;
}

/// Binds to a free port: "tcp://127.0.0.1:40123"; empty if the system refuses.
inline std::string bind_to_loopback(const ZmqSocket& socket) {
  std::array<char, 64> endpoint{};
  std::size_t size = endpoint.size();
  if (zmq_bind(socket.get(), "tcp://127.0.0.1:0") != 0 ||
      zmq_getsockopt(socket.get(), ZMQ_LAST_ENDPOINT, endpoint.data(), &size) != 0) {
    return {};
  }
  return endpoint.data();
}

/// Sends `bytes` without a copy; they must outlive the context. False on failure.
inline bool send_in_place(const ZmqSocket& socket, std::span<const std::byte> bytes, int flags) {
  zmq_msg_t message;
  const auto keep = [](void*, void*) {};
  auto* data = const_cast<std::byte*>(bytes.data());  // libzmq only reads what it sends.
  STRETTO_CHECK(zmq_msg_init_data(&message, data, bytes.size(), keep, nullptr) == 0);
  if (zmq_msg_send(&message, socket.get(), flags) >= 0) return true;
  zmq_msg_close(&message);
  return false;
}

/// libzmq's last error.
inline Status zmq_refused(std::string_view what) {
  return {Code::kNetwork,
          fmt::format("cannot {} with libzmq: {}", what, zmq_strerror(zmq_errno()))};
}

/// A message for repeated receives.
class ZmqMessage {
 public:
  ZmqMessage() { zmq_msg_init(&message_); }
  ~ZmqMessage() { zmq_msg_close(&message_); }
  ZmqMessage(const ZmqMessage&) = delete;
  ZmqMessage& operator=(const ZmqMessage&) = delete;

  bool receive(const ZmqSocket& socket, int flags) {
    return zmq_msg_recv(&message_, socket.get(), flags) >= 0;
  }
  /// Forwards the message, which is empty afterwards.
  bool send(const ZmqSocket& socket, int flags) {
    return zmq_msg_send(&message_, socket.get(), flags) >= 0;
  }
  std::size_t size() const { return zmq_msg_size(&message_); }

 private:
  zmq_msg_t message_;
};

}  // namespace stretto::bench
