// SPDX-License-Identifier: Apache-2.0
// Endpoints of the zmq transport with small limits, an innocent link, and foreign peers: plain
// libzmq sockets, and raw ZMTP bytes.
#pragma once

#include <zmq.h>

#include <cstring>
#include <utility>

#include "tests/conformance/innocent.h"
#include "tests/conformance/raw_tcp.h"
#include "van/zmq/zmq_transport.h"

namespace stretto::conformance::libzmq {

using Message = std::vector<std::string>;

inline std::shared_ptr<const zmq::JobKeys> keys_of(std::string_view token) {
  return std::make_shared<const zmq::JobKeys>(zmq::job_keys_from(token).or_exit());
}

constexpr std::string_view kToken = "the token of this job, which nobody knows";
constexpr std::string_view kOtherToken = "the token of another job";

inline ZmqOptions options_of(ZmqMechanism mechanism, std::string_view token = kToken) {
  ZmqOptions options;
  options.mechanism = mechanism;
  options.keys = keys_of(token);
  options.max_payload_bytes = kMostPayload;
  options.queue_frames = 64;
  return options;
}

inline std::unique_ptr<Transport> make_end(ZmqMechanism mechanism,
                                           std::string_view token = kToken) {
  return make_zmq_transport(options_of(mechanism, token)).or_exit();
}

/// Only the header of a frame with `payload_bytes` bytes of payload.
inline std::string header_text(std::uint64_t sequence, std::size_t payload_bytes) {
  wire::Header header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint32_t>(payload_bytes);
  const wire::HeaderBytes bytes = wire::encode(header);
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

/// A frame as on the wire.
inline Message good_frame(std::uint64_t sequence, std::size_t payload_bytes = 0) {
  return {header_text(sequence, payload_bytes), std::string(payload_bytes, 'x')};
}

/// The ZMTP greeting of a connecting end, and its READY without a mechanism.
inline std::string greeting(std::string_view mechanism) {
  std::string text("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0", 12);
  text += mechanism;
  text.resize(64, '\0');
  return text;
}
inline std::string null_ready() {
  return std::string(
      "\x04\x1c\x05READY\x0bSocket-Type\0\0\0\x06"
      "DEALER",
      30);
}

/// A DEALER or ROUTER of a foreign program. It does not reconnect after its connection is closed.
class Peer {
 public:
  explicit Peer(int type) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_LINGER, 200);
    set(ZMQ_RECONNECT_IVL, -1);
    zmq_socket_monitor(socket_, "inproc://ends", ZMQ_EVENT_DISCONNECTED);
    ends_ = zmq_socket(context_, ZMQ_PAIR);
    zmq_connect(ends_, "inproc://ends");
  }
  ~Peer() {
    zmq_close(ends_);
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  void name(const std::string& id) {
    zmq_setsockopt(socket_, ZMQ_ROUTING_ID, id.data(), id.size());
  }
  void encrypt(const zmq::KeyPair& own, const zmq::Key& far) {
    zmq_setsockopt(socket_, ZMQ_CURVE_PUBLICKEY, own.open.data(), own.open.size());
    zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, own.secret.data(), own.secret.size());
    zmq_setsockopt(socket_, ZMQ_CURVE_SERVERKEY, far.data(), far.size());
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
  void send(const Message& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const int more = i + 1 < parts.size() ? ZMQ_SNDMORE : 0;
      if (zmq_send(socket_, parts[i].data(), parts[i].size(), ZMQ_DONTWAIT | more) < 0) return;
    }
  }
  bool hung_up_on() {
    char event[8];
    return zmq_recv(ends_, event, sizeof event, ZMQ_DONTWAIT) > 0;
  }
  /// The next message; empty if there is none.
  Message receive() {
    Message parts;
    int more = 1;
    while (more != 0) {
      std::string part(1 << 20, '\0');
      const int size = zmq_recv(socket_, part.data(), part.size(), ZMQ_DONTWAIT);
      if (size < 0) return parts;
      part.resize(static_cast<std::size_t>(size));
      parts.push_back(std::move(part));
      std::size_t bytes = sizeof more;
      zmq_getsockopt(socket_, ZMQ_RCVMORE, &more, &bytes);
    }
    return parts;
  }

 private:
  void set(int option, int value) { zmq_setsockopt(socket_, option, &value, sizeof value); }

  void* context_;
  void* socket_;
  void* ends_;
};

/// An endpoint that listens, and an innocent link to it.
class ZmqInnocent : public Innocent {
 protected:
  explicit ZmqInnocent(ZmqMechanism mechanism)
      : Innocent(make_end(mechanism), make_end(mechanism), "127.0.0.1:0") {}

  /// Makes a link of `from` to `address` that breaks, and returns the reason.
  static Status broken_link(End& from, const std::string& address, std::vector<End*> others) {
    const LinkId link = from.connect(address);
    from.send(link, 1);
    others.push_back(&from);
    EXPECT_TRUE(until(others, [&] { return from.broken.count(link) == 1; }));
    return from.broken.count(link) == 1 ? from.broken.at(link) : Status();
  }
};

}  // namespace stretto::conformance::libzmq
