// SPDX-License-Identifier: Apache-2.0
// Strangers for a ZeroMQ endpoint, from raw TCP to ZMTP that is not ours, and an innocent link that
// must work whatever they do.
#pragma once

#include <zmq.h>

#include <cstring>

#include "tests/conformance/conformance.h"
#include "tests/conformance/raw_tcp.h"
#include "van/zmq/zmq_transport.h"

namespace stretto::conformance {

using Sent = Transport::Sent;
using Parts = std::vector<std::string>;

inline constexpr std::size_t kMostPayload = 64 * 1024;

/// With small limits.
inline std::unique_ptr<Transport> make_endpoint() {
  ZmqOptions options;
  options.max_payload_bytes = kMostPayload;
  options.queue_frames = 64;
  return make_zmq_transport(options).or_exit();
}

/// A libzmq socket of a program that is not ours. What it sent leaves before it goes; if it is hung
/// up on it does not come back.
class RawZmq {
 public:
  explicit RawZmq(int type) : context_(zmq_ctx_new()), socket_(zmq_socket(context_, type)) {
    set(ZMQ_LINGER, 200);
    set(ZMQ_RECONNECT_IVL, -1);
    zmq_socket_monitor(socket_, "inproc://ends", ZMQ_EVENT_DISCONNECTED);
    ends_ = zmq_socket(context_, ZMQ_PAIR);
    zmq_connect(ends_, "inproc://ends");
  }
  ~RawZmq() {
    zmq_close(ends_);
    zmq_close(socket_);
    zmq_ctx_term(context_);
  }
  RawZmq(const RawZmq&) = delete;
  RawZmq& operator=(const RawZmq&) = delete;

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

/// A frame as it is on the wire.
inline Parts frame(std::uint64_t sequence, std::size_t payload_bytes = 0) {
  wire::Header header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint32_t>(payload_bytes);
  const wire::HeaderBytes bytes = wire::encode(header);
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return {text, std::string(payload_bytes, 'x')};
}

/// An endpoint that listens, and an innocent link to it.
class ZmqInnocent : public testing::Test {
 protected:
  ZmqInnocent() : server_(make_endpoint()), innocent_(make_endpoint()) {
    address_ = server_.listen("127.0.0.1:0");
    link_ = innocent_.connect(address_);
    server_.when_frame = [this](LinkId link, const wire::Header& header, const Buffer&) {
      if (link == innocent_link()) server_.send(link, header.sequence);
    };
    expect_innocent_works();
  }

  LinkId innocent_link() const { return server_.accepted.empty() ? 0 : server_.accepted.front(); }

  void expect_innocent_works() {
    const std::size_t before = innocent_.frames;
    for (std::uint64_t i = 0; i < 20; ++i) ASSERT_EQ(innocent_.send(link_, i), Sent::kTaken);
    ASSERT_TRUE(until({&innocent_, &server_}, [&] { return innocent_.frames == before + 20; }));
    EXPECT_TRUE(innocent_.broken.empty());
    EXPECT_EQ(server_.broken.count(innocent_link()), 0U);
  }

  /// Sends frames 1 to 10, and ends the endpoint as soon as they have been handed to TCP.
  static void send_and_leave(End& end, LinkId link) {
    Lender lender(pattern(4'000, 1));
    for (std::uint64_t i = 1; i <= 10; ++i) {
      ASSERT_EQ(end.send(link, i, lender.lend()), Sent::kTaken);
    }
    ASSERT_TRUE(until({&end}, [&] { return lender.all_ended(); }));
    end.destroy();
  }

  bool poll_until(const std::function<bool()>& condition) { return until({&server_}, condition); }

  End server_;
  End innocent_;
  std::string address_;
  LinkId link_ = 0;
};

}  // namespace stretto::conformance
