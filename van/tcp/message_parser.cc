// SPDX-License-Identifier: Apache-2.0
// One function for each state of a connection.
#include "van/tcp/message_parser.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/check.h"

namespace stretto::tcp {

MessageParser::Got MessageParser::fail() {
  state_ = State::kOver;
  return Got::kMalformed;
}

MessageParser::Got MessageParser::take(std::span<const std::byte>& bytes) {
  switch (state_) {
    case State::kGreeting:
      return take_greeting(bytes);
    case State::kMessages:
      return take_message(bytes);
    case State::kLarge: {
      const std::span<std::byte> room = gap();
      const std::size_t count = std::min(bytes.size(), room.size());
      if (count == 0) return Got::kNothing;
      std::memcpy(room.data(), bytes.data(), count);
      bytes = bytes.subspan(count);
      return filled(count);
    }
    case State::kOver:
      break;
  }
  return Got::kMalformed;
}

MessageParser::Got MessageParser::take_greeting(std::span<const std::byte>& bytes) {
  greeting_ = check_greeting(bytes, far_);
  if (greeting_ == GreetingCheck::kIncomplete) return Got::kNothing;
  if (greeting_ != GreetingCheck::kGood) return fail();
  bytes = bytes.subspan(kGreetingBytes);
  state_ = State::kMessages;
  return Got::kGreeting;
}

MessageParser::Got MessageParser::take_message(std::span<const std::byte>& bytes) {
  large_ = Buffer();
  const std::optional<MessageHead> head = read_head(bytes);
  if (!head) return Got::kNothing;
  if (!is_within_limits(*head, max_payload_bytes_)) return fail();
  if (bytes.size() < kHeadBytes + head->headers_bytes()) return Got::kNothing;
  const std::span<const std::byte> headers = bytes.subspan(kHeadBytes, head->headers_bytes());
  const std::span<const std::byte> rest = bytes.subspan(kHeadBytes + headers.size());
  if (head->payload_bytes < kLeastAlone) {
    if (rest.size() < head->payload_bytes) return Got::kNothing;
    headers_ = headers;
    payloads_ = rest.first(head->payload_bytes);
    bytes = rest.subspan(head->payload_bytes);
    return check_frames();
  }
  kept_headers_.assign(headers.begin(), headers.end());
  large_ = Buffer::allocate(head->payload_bytes);
  filled_ = 0;
  state_ = State::kLarge;
  bytes = rest;
  return take(bytes);
}

std::span<std::byte> MessageParser::gap() {
  if (state_ != State::kLarge) return {};
  return large_.writable().subspan(filled_);
}

MessageParser::Got MessageParser::filled(std::size_t bytes) {
  STRETTO_CHECK(state_ == State::kLarge && bytes <= large_.size() - filled_);
  filled_ += bytes;
  if (filled_ < large_.size()) return Got::kNothing;
  state_ = State::kMessages;
  headers_ = kept_headers_;
  payloads_ = large_.bytes();
  return check_frames();
}

MessageParser::Got MessageParser::check_frames() {
  return is_frame_or_batch(headers_, payloads_, max_payload_bytes_) ? Got::kFrame : fail();
}

Buffer MessageParser::take_payload() {
  STRETTO_CHECK(frames() == 1);
  if (payloads_.empty()) return {};
  if (payloads_.data() == large_.data()) return std::exchange(large_, {});
  return Buffer::copy_of(payloads_);
}

}  // namespace stretto::tcp
