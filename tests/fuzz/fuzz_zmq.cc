// SPDX-License-Identifier: Apache-2.0
// Messages of any parts over libzmq sockets: MessageReader reports the shape of each, once and in
// order; an accepted message is a frame or a batch. A batch of send_batch() is unpacked into the
// same frames. Input: a mask, then messages as for fuzz_tcp.
#include <memory>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/batches.h"
#include "tests/fuzz/input.h"
#include "van/zmq/frame_format.h"

namespace stretto {
namespace {

using zmq::MessageReader;
using zmq::Shape;
using zmq::ZmqSocket;

constexpr std::size_t kMostMessages = 64;  // Fewer than libzmq queues.

struct Ends {
  ZmqSocket from;
  ZmqSocket to;
};

Ends open_ends(bool routed) {
  static const zmq::ZmqContext context = zmq::open_context(0, 8).or_exit();
  Ends ends{.from = ZmqSocket::open(context, routed ? ZMQ_DEALER : ZMQ_PAIR).or_exit(),
            .to = ZmqSocket::open(context, routed ? ZMQ_ROUTER : ZMQ_PAIR).or_exit()};
  const char* const name = routed ? "inproc://routed" : "inproc://pair";
  for (const ZmqSocket* socket : {&ends.from, &ends.to}) {
    const int none = 0;
    STRETTO_CHECK(zmq_setsockopt(socket->get(), ZMQ_LINGER, &none, sizeof none) == 0);
  }
  STRETTO_CHECK(zmq_bind(ends.to.get(), name) == 0);
  STRETTO_CHECK(zmq_connect(ends.from.get(), name) == 0);
  return ends;
}

Ends& ends_of(bool routed) {
  static const auto pair = std::make_unique<Ends>(open_ends(false));
  static const auto with_router = std::make_unique<Ends>(open_ends(true));
  return routed ? *with_router : *pair;
}

Shape shape_of(const std::vector<Buffer>& parts, std::size_t most_bytes) {
  if (parts.size() == 1 && parts[0].empty()) return Shape::kEmpty;
  if (parts.size() == 1 && parts[0].size() == 1) return Shape::kKeepAlive;
  const bool whole =
      parts.size() == 2 && is_frame_or_batch(parts[0].bytes(), parts[1].bytes(), most_bytes);
  return whole ? Shape::kFrame : Shape::kMalformed;
}

void send(ZmqSocket& socket, const std::vector<Buffer>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    STRETTO_CHECK(socket.send(parts[i].bytes(), i + 1 < parts.size()) == 0);
  }
}

// The payloads of a received message.
std::vector<Buffer> payloads_of(zmq::ReceivedMessage& in, std::size_t most_bytes) {
  const std::span<const std::byte> headers = in.header.bytes();
  return fuzz::take_payloads(zmq::frames_of(in), headers, in.payload.bytes().size(), most_bytes);
}

void read_messages(fuzz::Input& input, unsigned valid) {
  const bool routed = (valid & fuzz::kRouted) != 0;
  Ends& ends = ends_of(routed);
  const std::size_t most_bytes = (valid & fuzz::kSmallLimit) != 0 ? 1000 : wire::kMaxPayloadBytes;
  std::vector<Shape> sent;
  do {
    const std::vector<Buffer> parts = fuzz::take_parts(input, valid);
    send(ends.from, parts);
    sent.push_back(shape_of(parts, most_bytes));
  } while (!input.empty() && sent.size() < kMostMessages);
  MessageReader reader(routed, most_bytes);
  zmq::ReceivedMessage in;
  std::vector<Shape> came;
  for (Shape shape = reader.next(ends.to, in); shape != Shape::kNothing;
       shape = reader.next(ends.to, in)) {
    if (shape == Shape::kFrame) (void)payloads_of(in, most_bytes);
    if (shape != Shape::kRemains) came.push_back(shape);
  }
  STRETTO_CHECK(came == sent);
}

void read_ours(fuzz::Input& input, bool routed) {
  Ends& ends = ends_of(routed);
  FrameBatch batch(input.flag());
  const std::vector<Buffer> sent = fuzz::fill_batch(input, batch);
  STRETTO_CHECK(zmq::send_batch(ends.from, {}, batch) == 0 && batch.empty());
  MessageReader reader(routed, kLeastAlone);
  zmq::ReceivedMessage in;
  STRETTO_CHECK(reader.next(ends.to, in) == Shape::kFrame);
  fuzz::check_equal(sent, payloads_of(in, kLeastAlone));
  STRETTO_CHECK(reader.next(ends.to, in) == Shape::kNothing);
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned valid = input.byte();
  if ((valid & fuzz::kOurs) != 0) return read_ours(input, (valid & fuzz::kRouted) != 0);
  read_messages(input, valid);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
