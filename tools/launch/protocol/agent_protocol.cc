// SPDX-License-Identifier: Apache-2.0
// Encodes numbers in little endian, and texts after their lengths; checks every length before use.
#include "tools/launch/protocol/agent_protocol.h"

#include <fmt/core.h>

#include <utility>

namespace stretto::launch {
namespace {

constexpr std::size_t kLengthBytes = 4;
constexpr std::size_t kHelloTexts = 4;

template <typename T>
void put(std::string& bytes, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bytes.push_back(static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xff));
  }
}

// Reads numbers and texts from the front; after a shortage all results are 0 or empty.
class Taker {
 public:
  explicit Taker(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  T number() {
    std::uint64_t value = 0;
    const std::string_view taken = take(sizeof(T));
    for (std::size_t i = 0; i < taken.size(); ++i) {
      value |= static_cast<std::uint64_t>(static_cast<unsigned char>(taken[i])) << (8 * i);
    }
    return static_cast<T>(value);
  }
  std::string text() { return std::string(take(number<std::uint32_t>())); }

  bool short_of() const { return short_; }
  bool empty() const { return bytes_.empty(); }

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size()) {
      short_ = true;
      bytes_ = {};
      return {};
    }
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
  bool short_ = false;
};

Status malformed(std::string cause) { return {Code::kMalformed, std::move(cause)}; }

Result<std::optional<AgentFrame>> decoded(std::string_view bytes) {
  Taker taker(bytes);
  AgentFrame frame;
  const auto kind = taker.number<std::uint8_t>();
  if (kind < static_cast<std::uint8_t>(AgentFrame::Kind::kHello) ||
      kind > static_cast<std::uint8_t>(AgentFrame::Kind::kProof)) {
    return malformed(fmt::format("a frame of kind {}, which there is not", kind));
  }
  frame.kind = static_cast<AgentFrame::Kind>(kind);
  frame.detail = taker.number<std::uint8_t>();
  frame.member = taker.number<std::uint32_t>();
  frame.number = taker.number<std::int64_t>();
  const auto count = taker.number<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && !taker.short_of(); ++i) {
    frame.texts.push_back(taker.text());
  }
  if (taker.short_of() || !taker.empty()) {
    return malformed(fmt::format("a frame of {} bytes whose texts do not fit it", bytes.size()));
  }
  return std::optional<AgentFrame>(std::move(frame));
}

}  // namespace

std::string encoded(const AgentFrame& frame) {
  std::string bytes(kLengthBytes, '\0');
  put(bytes, static_cast<std::uint8_t>(frame.kind));
  put(bytes, frame.detail);
  put(bytes, frame.member);
  put(bytes, frame.number);
  put(bytes, static_cast<std::uint32_t>(frame.texts.size()));
  for (const std::string& text : frame.texts) {
    put(bytes, static_cast<std::uint32_t>(text.size()));
    bytes += text;
  }
  std::string length;
  put(length, static_cast<std::uint32_t>(bytes.size() - kLengthBytes));
  return bytes.replace(0, kLengthBytes, length);
}

std::string AgentHello::address_of(std::string_view interface) const {
  for (const std::string& one : interfaces) {
    const std::size_t equals = one.find('=');
    if (equals != std::string::npos && one.substr(0, equals) == interface) {
      return one.substr(equals + 1);
    }
  }
  return {};
}

AgentFrame frame_of(const AgentHello& hello) {
  AgentFrame frame;
  frame.number = hello.rank;
  frame.texts = {hello.version, hello.host, hello.launcher_address, hello.own_address};
  frame.texts.insert(frame.texts.end(), hello.interfaces.begin(), hello.interfaces.end());
  return frame;
}

Result<AgentHello> hello_of(const AgentFrame& frame) {
  if (frame.kind != AgentFrame::Kind::kHello || frame.texts.size() < kHelloTexts) {
    return malformed("the first frame is no hello");
  }
  AgentHello hello{frame.number,   frame.texts[0], frame.texts[1],
                   frame.texts[2], frame.texts[3], {}};
  hello.interfaces.assign(frame.texts.begin() + kHelloTexts, frame.texts.end());
  return hello;
}

Status AgentFrameReader::find_greeting() {
  const std::size_t found = bytes_.find(kGreeting);
  if (found != std::string::npos) {
    noise_ += bytes_.substr(0, found);
    bytes_.erase(0, found + kGreeting.size());
    greeted_ = true;
  } else if (bytes_.size() > kMaxNoise) {
    return malformed(
        fmt::format("{} bytes, and no greeting of an agent among them; the login "
                    "shell there prints too much",
                    bytes_.size()));
  }
  return {};
}

Result<std::optional<AgentFrame>> AgentFrameReader::next() {
  if (!greeted_) {
    if (Status status = find_greeting(); !status.ok()) return status;
    if (!greeted_) return std::optional<AgentFrame>();
  }
  const std::string_view rest = std::string_view(bytes_).substr(read_);
  const auto length = Taker(rest.substr(0, kLengthBytes)).number<std::uint32_t>();
  if (length > most_) return malformed(fmt::format("a frame of {} bytes", length));
  if (rest.size() < kLengthBytes || rest.size() - kLengthBytes < length) {
    bytes_.erase(0, read_);
    read_ = 0;
    return std::optional<AgentFrame>();
  }
  read_ += kLengthBytes + length;
  return decoded(rest.substr(kLengthBytes, length));
}

std::string AgentFrameReader::take_noise() {
  if (!greeted_) return std::exchange(bytes_, {});
  return std::exchange(noise_, {});
}

}  // namespace stretto::launch
