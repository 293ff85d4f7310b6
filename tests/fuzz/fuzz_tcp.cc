// SPDX-License-Identifier: Apache-2.0
// Messages from any peer. A message that is_frame_or_batch() accepts is a frame, or a batch whose
// frames lie inside it, each delivered once, byte for byte. A batch of FrameBatch is unpacked into
// the same frames. The parsed messages do not depend on how the byte stream is cut. Input: a mask,
// then messages: the number of parts, then size and bytes of each.
#include <algorithm>
#include <string>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/batches.h"
#include "tests/fuzz/input.h"
#include "van/tcp/message_parser.h"

namespace stretto {
namespace {

using tcp::MessageParser;

// A message of any parts; if it has two and is_frame_or_batch() accepts it, they hold frames.
void read_message(fuzz::Input& input, unsigned valid, std::size_t most_bytes) {
  const std::vector<Buffer> parts = fuzz::take_parts(input, valid);
  if (parts.size() != 2) return;
  const std::span<const std::byte> headers = parts[0].bytes();
  const Buffer& part = parts[1];
  if (!is_frame_or_batch(headers, part.bytes(), most_bytes)) return;
  (void)fuzz::take_payloads({headers, part.bytes(), [&part] { return part; }}, headers, part.size(),
                            most_bytes);
}

// A batch that FrameBatch makes is unpacked into the same frames.
void read_ours(fuzz::Input& input) {
  FrameBatch batch(input.flag());
  const std::vector<Buffer> sent = fuzz::fill_batch(input, batch);
  if (sent.size() < 2) return;  // A single frame is not batched.
  Buffer headers = Buffer::allocate(batch.headers_bytes());
  Buffer part = Buffer::allocate(batch.payloads_bytes());
  batch.write_headers(headers.writable());
  batch.write_payloads(part.writable());
  STRETTO_CHECK(is_frame_or_batch(headers.bytes(), part.bytes(), kLeastAlone));
  const UnpackedFrames frames(headers.bytes(), part.bytes(), [&part] { return part; });
  fuzz::check_equal(sent, fuzz::take_payloads(frames, headers.bytes(), part.size(), kLeastAlone));
}

/// The messages parsed from a connection's bytes.
struct Made {
  std::vector<MessageParser::Got> got;
  std::vector<std::string> payloads;
  friend bool operator==(const Made&, const Made&) = default;
};

// Parses `piece` bytes at a time, each from memory of exactly its size.
Made take_connection(std::span<const std::byte> bytes, std::size_t piece) {
  constexpr std::size_t kMostPayload = 20'000;
  Made made;
  MessageParser parser(kMostPayload, tcp::Side::kConnector);
  std::vector<std::byte> unread;
  while (!bytes.empty()) {
    const auto next = bytes.first(std::min(piece, bytes.size()));
    bytes = bytes.subspan(next.size());
    unread.insert(unread.end(), next.begin(), next.end());
    std::span<const std::byte> left = unread;
    for (MessageParser::Got got = parser.take(left); got != MessageParser::Got::kNothing;
         got = parser.take(left)) {
      made.got.push_back(got);
      if (got == MessageParser::Got::kMalformed) return made;
      if (got != MessageParser::Got::kFrame) continue;
      UnpackedFrames unpacked(parser.headers(), parser.payloads(),
                              [&parser] { return parser.take_payload(); });
      wire::HeaderView header(parser.headers().data(), wire::kHeaderBytes);
      for (Buffer payload; unpacked.next(header, payload);) {
        STRETTO_CHECK(payload.size() <= kMostPayload);
        const auto* text = reinterpret_cast<const char*>(payload.data());
        made.payloads.emplace_back(text, payload.size());
      }
    }
    STRETTO_CHECK(parser.held_bytes() <= kMostBatchPart + 2 * kMostBatched * 128);
    unread = std::vector<std::byte>(left.begin(), left.end());
  }
  return made;
}

void run_connection(fuzz::Input& input) {
  const std::size_t piece = 1 + input.byte();
  const Buffer bytes = input.rest();
  STRETTO_CHECK(take_connection(bytes.bytes(), piece) ==
                take_connection(bytes.bytes(), std::max<std::size_t>(bytes.size(), 1)));
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned valid = input.byte();
  if ((valid & fuzz::kConnection) != 0) return run_connection(input);
  if ((valid & fuzz::kOurs) != 0) return read_ours(input);
  const std::size_t most_bytes = (valid & fuzz::kSmallLimit) != 0 ? 1000 : wire::kMaxPayloadBytes;
  while (!input.empty()) read_message(input, valid, most_bytes);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
