// SPDX-License-Identifier: Apache-2.0
// Strangers for a ZeroMQ endpoint, from raw TCP to ZMTP that is not ours, and an innocent link that
// must work whatever they do.
#pragma once

#include <zmq.h>

#include <cstring>
#include <utility>

#include "tests/conformance/innocent.h"
#include "tests/conformance/raw_tcp.h"
#include "van/tcp/tcp_transport.h"

namespace stretto::conformance {

using Parts = std::vector<std::string>;

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// With small limits.
inline std::unique_ptr<Transport> make_endpoint() {
  TcpOptions options;
  options.max_payload_bytes = kMostPayload;
  options.queue_frames = 64;
  return make_tcp_transport(options).or_exit();
}

/// A libzmq socket of a program that is not ours. What it sent leaves before it goes; if it is hung
/// up on it does not come back.
class RawZmq {
 public:
  /// `linger_ms`: how long its end waits for that, even if nobody takes it.
  explicit RawZmq(int type, int linger_ms = 200)
      : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_LINGER, linger_ms);
    set(ZMQ_RECONNECT_IVL, -1);
    zmq_socket_monitor(socket_, "inproc://ends", ZMQ_EVENT_DISCONNECTED);
    ends_ = zmq_socket(context_, ZMQ_PAIR);
    zmq_connect(ends_, "inproc://ends");
  }
  ~RawZmq() { leave(); }
  RawZmq(const RawZmq&) = delete;
  RawZmq& operator=(const RawZmq&) = delete;

  /// Ends it, once what it sent has left.
  void leave() {
    if (context_ == nullptr) return;
    zmq_close(ends_);
    zmq_close(socket_);
    zmq_ctx_term(std::exchange(context_, nullptr));
  }
  /// Its connections are encrypted from now on: it listens, or connects to who has `far`.
  void encrypt(const tcp::CurveKeyPair& own, bool listens, const tcp::CurveKey& far = {}) {
    const int on = listens ? 1 : 0;
    zmq_setsockopt(socket_, ZMQ_CURVE_SERVER, &on, sizeof on);
    zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, own.open.data(), own.open.size());
    zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, own.secret.data(), own.secret.size());
    if (!listens) zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, far.data(), far.size());
  }
  void name(const std::string& id) {
    zmq_setsockopt(socket_, ZMQ_ROUTING_ID, id.data(), id.size());
  }
  void connect(const std::string& address) {
    EXPECT_EQ(zmq_connect(socket_, ("tcp://" + address).c_str()), 0);
  }
  std::string bind() {
    EXPECT_EQ(zmq_bind(socket_, "tcp://127.0.0.1:*"), 0);
    char bound[256];
    std::size_t size = sizeof bound;
    zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound, &size);
    return bound + std::strlen("tcp://");
  }
  void send(const Parts& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int more = i + 1 < parts.size() ? ZMQ_SNDMORE : 0;
      if (zmq_send(socket_, parts[i].data(), parts[i].size(), ZMQ_DONTWAIT | more) < 0) return;
    }
  }
  bool hung_up_on() {
    char event[8];
    return zmq_recv(ends_, event, sizeof event, ZMQ_DONTWAIT) > 0;
  }
  /// The next message, if there is one.
  Parts receive() {
    Parts parts;
    do {
      std::string part(1 << 20, '\0');
      const int size = zmq_recv(socket_, part.data(), part.size(), ZMQ_DONTWAIT);
      if (size < 0) return parts;
      part.resize(static_cast<std::size_t>(size));
      parts.push_back(std::move(part));
    } while (more());
    return parts;
  }

 private:
  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }
  bool more() {
    int more = 0;
    std::size_t size = sizeof more;
    return zmq_getsockopt(socket_, ZMQ_RCVMORE, &more, &size) == 0 && more != 0;
  }

  void* context_;
  void* socket_;
  void* ends_;
};

/// The header alone, of a frame with so many bytes of payload.
inline std::string header(std::uint64_t sequence, std::size_t payload_bytes) {
  wire::Header header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint32_t>(payload_bytes);
  const wire::HeaderBytes bytes = wire::encode(header);
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

/// A frame as it is on the wire.
inline Parts frame(std::uint64_t sequence, std::size_t payload_bytes = 0) {
  return {header(sequence, payload_bytes), std::string(payload_bytes, 'x')};
}

/// An endpoint that listens, and an innocent link to it.
class TcpInnocent : public Innocent {
 protected:
  TcpInnocent() : Innocent(make_endpoint(), make_endpoint(), "127.0.0.1:0") {}

  /// Sends frames 1 to 10, and ends the endpoint as soon as they have been handed to TCP.
  static void send_and_leave(End& end, LinkId link, End& far) {
    Lender lender(pattern(20'000, 1));
    for (std::uint64_t i = 1; i <= 10; ++i) {
      ASSERT_EQ(end.send(link, i, lender.lend()), Sent::kTaken);
    }
    ASSERT_TRUE(until({&end, &far}, [&] { return lender.all_ended(); }));
    end.destroy();
  }
};

}  // namespace stretto::conformance
