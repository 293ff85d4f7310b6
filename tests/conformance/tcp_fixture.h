// SPDX-License-Identifier: Apache-2.0
// Peers of a TCP endpoint, from raw bytes to valid handshakes with bad messages, and an innocent
// link that must work throughout.
#pragma once

#include <cstring>
#include <utility>

#include "tests/conformance/innocent.h"
#include "tests/conformance/raw_tcp.h"
#include "van/tcp/frame_format.h"
#include "van/tcp/greeting.h"
#include "van/tcp/tcp_transport.h"

namespace stretto::conformance {

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

inline std::string greeting(tcp::Side side = tcp::Side::kConnector) {
  return text_of(tcp::greeting_of(side));
}
/// A message's head; it may be wrong.
inline std::string head(std::uint32_t frames, std::uint32_t payload_bytes) {
  std::string text(tcp::kHeadBytes, '\0');
  tcp::write_head(std::as_writable_bytes(std::span(text)), {frames, payload_bytes});
  return text;
}
inline std::string message(const std::string& headers, const std::string& payloads) {
  return head(static_cast<std::uint32_t>(headers.size() / wire::kHeaderBytes),
              static_cast<std::uint32_t>(payloads.size())) +
         headers + payloads;
}

/// A program that connects, makes a node's handshake, and then sends arbitrary bytes.
class RawNode {
 public:
  explicit RawNode(const std::string& address) : tcp_(address) { tcp_.send(greeting()); }
  void send(std::string_view bytes) { tcp_.send(bytes); }
  bool hung_up_on() { return tcp_.ended(); }
  /// Shuts down the sending direction. A close would reset the connection and lose data.
  void leave() { tcp_.finish(); }

 private:
  RawTcp tcp_;
};

/// Only the header of a frame with `payload_bytes` bytes of payload.
inline std::string header(std::uint64_t sequence, std::size_t payload_bytes) {
  wire::Header header;
  header.sequence = sequence;
  header.bytes = static_cast<std::uint32_t>(payload_bytes);
  const wire::HeaderBytes bytes = wire::encode(header);
  std::string text(bytes.size(), '\0');
  std::memcpy(text.data(), bytes.data(), bytes.size());
  return text;
}

/// A frame as on the wire.
inline std::string frame(std::uint64_t sequence, std::size_t payload_bytes = 0) {
  return message(header(sequence, payload_bytes), std::string(payload_bytes, 'x'));
}

/// An endpoint that listens, and an innocent link to it.
class TcpInnocent : public Innocent {
 protected:
  TcpInnocent() : Innocent(make_endpoint(), make_endpoint(), "127.0.0.1:0") {}

  /// Sends frames 1 to 10, and destroys the endpoint once they have been handed to TCP.
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
