// SPDX-License-Identifier: Apache-2.0
// Messages as a peer may send them: what fits() lets through is a frame, or a batch whose frames
// lie inside it, each delivered once and byte by byte; what MessageBatch puts together comes apart
// as it was; and what is made of a connection's bytes does not depend on the pieces that they come
// in. Input: a mask, then messages. Each is a number of parts, then for each its size and its
// bytes.
#include <algorithm>
#include <string>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/input.h"
#include "van/tcp/batch.h"
#include "van/tcp/message_parser.h"

namespace stretto {
namespace {

using tcp::MessageBatch;
using tcp::MessageParser;
using tcp::Unpacked;

enum Valid : unsigned { kConnection = 1, kLengths = 2, kSmallLimit = 4, kOurs = 8 };
constexpr std::size_t kMostPart = 40'000;

// What came as the two parts of a message; every payload is read to its end.
std::size_t read_frames(std::span<const std::byte> headers, const Buffer& part,
                        std::size_t most_bytes, std::vector<Buffer>* payloads) {
  const std::size_t count = headers.size() / wire::kHeaderBytes;
  STRETTO_CHECK(count > 0 && count <= tcp::kMostBatched);
  Unpacked unpacked(headers, part.bytes(), [&part] { return part; });
  wire::HeaderView header(headers.data(), wire::kHeaderBytes);
  std::size_t bytes = 0;
  std::size_t delivered = 0;
  for (Buffer payload; unpacked.next(header, payload); ++delivered) {
    STRETTO_CHECK(payload.size() <= most_bytes);
    (void)wire::decode(header, payload.size());
    const Buffer copy = Buffer::copy_of(payload.bytes());
    STRETTO_CHECK(copy.size() == payload.size());
    bytes += payload.size();
    if (payloads != nullptr) payloads->push_back(std::move(payload));
  }
  STRETTO_CHECK(delivered == count);
  STRETTO_CHECK(bytes == (count == 1 ? part.size() : part.size() - count * tcp::kLengthBytes));
  return count;
}

// Lengths that add up, wherever the part has room for them.
void mend_lengths(std::span<std::byte> payloads, std::size_t frames) {
  if (frames < 2 || payloads.size() < frames * tcp::kLengthBytes) return;
  std::size_t left = payloads.size() - frames * tcp::kLengthBytes;
  for (std::size_t i = 0; i < frames; ++i) {
    const std::size_t wanted = tcp::length_in(payloads, i);
    const auto length = static_cast<std::uint32_t>(i + 1 == frames ? left : wanted % (left + 1));
    std::memcpy(payloads.data() + i * tcp::kLengthBytes, &length, sizeof length);
    left -= length;
  }
}

// A message of any parts: of two, what fits() lets through is frames.
void read_message(fuzz::Input& input, unsigned valid, std::size_t most_bytes) {
  std::vector<Buffer> parts(1 + input.below(4));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t size = input.take<std::uint16_t>() % kMostPart;
    // Mostly whole headers.
    if (input.flag()) size = size % (tcp::kMostBatched + 2) * wire::kHeaderBytes;
    parts[i] = input.payload(size);
    if (i == 1 && (valid & kLengths) != 0) {
      mend_lengths(parts[1].writable(), parts[0].size() / wire::kHeaderBytes);
    }
  }
  if (parts.size() != 2 || !tcp::fits(parts[0].bytes(), parts[1].bytes(), most_bytes)) return;
  (void)read_frames(parts[0].bytes(), parts[1], most_bytes, nullptr);
}

// What MessageBatch makes of these frames is read as the same frames.
void read_ours(fuzz::Input& input) {
  MessageBatch batch(input.flag());
  std::vector<Buffer> sent;
  do {
    sent.push_back(input.payload(input.take<std::uint16_t>() % tcp::kLeastTaken));
    STRETTO_CHECK(MessageBatch::takes(sent.back()));
    batch.add(wire::Header{}, sent.back());
  } while (!batch.full() && !input.empty());
  if (sent.size() < 2) return;  // It leaves as a frame of its own.
  Buffer headers = Buffer::allocate(batch.headers_bytes());
  Buffer part = Buffer::allocate(batch.payloads_bytes());
  batch.write_headers(headers.writable());
  batch.write_payloads(part.writable());
  STRETTO_CHECK(tcp::fits(headers.bytes(), part.bytes(), tcp::kLeastTaken));
  std::vector<Buffer> came;
  STRETTO_CHECK(read_frames(headers.bytes(), part, tcp::kLeastTaken, &came) == sent.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    STRETTO_CHECK(std::ranges::equal(sent[i].bytes(), came[i].bytes()));
  }
}

/// What was made of a connection's bytes.
struct Made {
  std::vector<MessageParser::Got> got;
  std::vector<std::string> payloads;
  friend bool operator==(const Made&, const Made&) = default;
};

// `piece` bytes at a time, from memory of just their size.
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
      Unpacked unpacked(parser.headers(), parser.payloads(),
                        [&parser] { return parser.take_payload(); });
      wire::HeaderView header(parser.headers().data(), wire::kHeaderBytes);
      for (Buffer payload; unpacked.next(header, payload);) {
        STRETTO_CHECK(payload.size() <= kMostPayload);
        const auto* text = reinterpret_cast<const char*>(payload.data());
        made.payloads.emplace_back(text, payload.size());
      }
    }
    STRETTO_CHECK(parser.held_bytes() <= tcp::kMostBatchPart + 2 * tcp::kMostBatched * 128);
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
  if ((valid & kConnection) != 0) return run_connection(input);
  if ((valid & kOurs) != 0) return read_ours(input);
  const std::size_t most_bytes = (valid & kSmallLimit) != 0 ? 1000 : wire::kMaxPayloadBytes;
  while (!input.empty()) read_message(input, valid, most_bytes);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
