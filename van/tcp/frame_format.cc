// SPDX-License-Identifier: Apache-2.0
// A peer can send other lengths than it announced; nothing else is checked here.
#include "van/tcp/frame_format.h"

namespace stretto::tcp {

bool fits(std::span<const std::byte> headers, std::span<const std::byte> payloads,
          std::size_t max_payload_bytes) {
  const std::size_t count = headers.size() / wire::kHeaderBytes;
  if (count == 0 || count > kMostBatched) return false;
  if (headers.size() != count * wire::kHeaderBytes) return false;
  if (count == 1) return payloads.size() <= max_payload_bytes;
  if (payloads.size() < count * kLengthBytes || payloads.size() > kMostBatchPart) return false;
  std::size_t sum = count * kLengthBytes;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t length = length_in(payloads, i);
    if (length > max_payload_bytes) return false;
    sum += length;
  }
  return sum == payloads.size();
}

}  // namespace stretto::tcp
