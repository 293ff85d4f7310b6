// SPDX-License-Identifier: Apache-2.0
// Most sizes are multiples of a header's size, since other messages are rejected immediately.
#include "tests/fuzz/batches.h"

namespace stretto::fuzz {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kMostPart = 40'000;

// Makes the lengths add up to the payload's size, if the part has room for them.
void mend_lengths(std::span<std::byte> payloads, std::size_t frames) {
  if (frames < 2 || payloads.size() < frames * kLengthBytes) return;
  std::size_t left = payloads.size() - frames * kLengthBytes;
  for (std::size_t i = 0; i < frames; ++i) {
    std::uint32_t wanted = 0;
    std::memcpy(&wanted, payloads.data() + i * kLengthBytes, sizeof wanted);
    const auto length = static_cast<std::uint32_t>(i + 1 == frames ? left : wanted % (left + 1));
    std::memcpy(payloads.data() + i * kLengthBytes, &length, sizeof length);
    left -= length;
  }
}

}  // namespace

std::vector<Buffer> take_parts(Input& input, unsigned valid) {
  std::vector<Buffer> parts(1 + input.below(4));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::size_t size = input.take<std::uint16_t>() % kMostPart;
    if (input.flag()) size = size % (kMostBatched + 2) * wire::kHeaderBytes;
    parts[i] = input.payload(size);
    if (i == 1 && (valid & kLengths) != 0) {
      mend_lengths(parts[1].writable(), parts[0].size() / wire::kHeaderBytes);
    }
  }
  return parts;
}

std::vector<Buffer> take_payloads(UnpackedFrames frames, std::span<const std::byte> headers,
                                  std::size_t part_bytes, std::size_t most_bytes) {
  const std::size_t count = headers.size() / wire::kHeaderBytes;
  STRETTO_CHECK(count > 0 && count <= kMostBatched);
  wire::HeaderView header(headers.data(), wire::kHeaderBytes);
  std::size_t bytes = 0;
  std::vector<Buffer> payloads;
  for (Buffer payload; frames.next(header, payload);) {
    STRETTO_CHECK(payload.size() <= most_bytes);
    (void)wire::decode(header, payload.size());
    bytes += payload.size();
    payloads.push_back(Buffer::copy_of(payload.bytes()));
  }
  STRETTO_CHECK(payloads.size() == count);
  STRETTO_CHECK(bytes == (count == 1 ? part_bytes : part_bytes - count * kLengthBytes));
  return payloads;
}

std::vector<Buffer> fill_batch(Input& input, FrameBatch& batch) {
  std::vector<Buffer> sent;
  do {
    sent.push_back(input.payload(input.take<std::uint16_t>() % kLeastAlone));
    STRETTO_CHECK(FrameBatch::takes(sent.back()));
    batch.add(wire::Header{}, sent.back());
  } while (!batch.full() && !input.empty());
  return sent;
}

void check_equal(std::span<const Buffer> sent, std::span<const Buffer> came) {
  STRETTO_CHECK(sent.size() == came.size());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    STRETTO_CHECK(std::ranges::equal(sent[i].bytes(), came[i].bytes()));
  }
}

}  // namespace stretto::fuzz
