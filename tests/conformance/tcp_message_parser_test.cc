// SPDX-License-Identifier: Apache-2.0
// The parser of an accepted connection's bytes: its results for bytes in any pieces, the heads that
// it refuses at once, and the output buffer.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "common/descriptor.h"
#include "van/tcp/message_parser.h"
#include "van/tcp/output_buffer.h"

namespace stretto::tcp {
namespace {

using Got = MessageParser::Got;

constexpr std::size_t kMostPayload = 20'000;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string head(std::uint32_t frames, std::uint32_t payload_bytes) {
  std::string text(kHeadBytes, '\0');
  write_head(std::as_writable_bytes(std::span(text)), {frames, payload_bytes});
  return text;
}

std::string frame(std::size_t payload_bytes) {
  return head(1, static_cast<std::uint32_t>(payload_bytes)) + std::string(wire::kHeaderBytes, 'h') +
         std::string(payload_bytes, 'p');
}

std::string opening(Side side = Side::kConnector) { return text_of(greeting_of(side)); }

struct Made {
  std::vector<Got> got;
  std::vector<std::size_t> payloads;
  std::size_t most_held = 0;
};

Made take(const std::string& bytes, std::size_t piece) {
  Made made;
  MessageParser parser(kMostPayload, Side::kConnector);
  std::string unread;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    unread += bytes.substr(at, piece);
    std::span<const std::byte> left = std::as_bytes(std::span(unread));
    for (Got got = parser.take(left); got != Got::kNothing; got = parser.take(left)) {
      made.got.push_back(got);
      if (got == Got::kMalformed) return made;
      if (got == Got::kFrame && parser.frames() == 1) {
        made.payloads.push_back(parser.take_payload().size());
      }
    }
    made.most_held = std::max(made.most_held, parser.held_bytes());
    unread = text_of(left);
  }
  return made;
}

TEST(TcpMessageParser, MakesTheSameOfBytesInAnyPieces) {
  const std::string bytes = opening() + frame(0) + frame(100) + frame(kLeastAlone - 1) +
                            frame(kLeastAlone) + frame(kMostPayload);
  const std::vector<Got> wanted = {Got::kGreeting, Got::kFrame, Got::kFrame,
                                   Got::kFrame,    Got::kFrame, Got::kFrame};
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    const Made made = take(bytes, piece);
    EXPECT_EQ(made.got, wanted) << piece;
    EXPECT_EQ(made.payloads,
              (std::vector<std::size_t>{0, 100, kLeastAlone - 1, kLeastAlone, kMostPayload}));
    EXPECT_LE(made.most_held, kMostPayload + wire::kHeaderBytes);
  }
}

// A head that announces an unacceptable message is refused before its body arrives.
TEST(TcpMessageParser, RefusesByTheHeadAlone) {
  const std::string refused[] = {
      head(0, 0),                   // No frame,
      head(0, 5),                   // a payload without a header,
      head(kMostBatched + 1, 0),    // too many headers,
      head(~0U, ~0U),               // and far too many,
      head(1, kMostPayload + 1),    // a payload that is too large,
      head(1, ~0U),                 // and far too large,
      head(2, kMostBatchPart + 1),  // a batch that is too large,
  };
  for (const std::string& message : refused) {
    const Made made = take(opening() + message, 1);
    EXPECT_EQ(made.got, (std::vector<Got>{Got::kGreeting, Got::kMalformed}))
        << testing::PrintToString(message);
    EXPECT_EQ(made.most_held, 0U);
  }
}

TEST(TcpMessageParser, RefusesOtherGreetings) {
  std::string version = opening();
  version[8] = 2;
  const std::pair<std::string, GreetingCheck> greetings[] = {
      {version, GreetingCheck::kOtherVersion},
      {opening(Side::kListener), GreetingCheck::kForeign},
      {std::string("\xff\0\0", 3), GreetingCheck::kZeroMq},
      {"strett0", GreetingCheck::kForeign},
      {"GET / HTTP/1.0", GreetingCheck::kForeign},
      {std::string(1, '\0'), GreetingCheck::kForeign}};
  for (const auto& [bytes, wanted] : greetings) {
    MessageParser parser(kMostPayload, Side::kConnector);
    std::span<const std::byte> left = std::as_bytes(std::span(bytes));
    EXPECT_EQ(parser.take(left), Got::kMalformed) << bytes;
    EXPECT_EQ(parser.greeting(), wanted) << bytes;
    EXPECT_EQ(parser.take(left), Got::kMalformed);
  }
}

TEST(TcpMessageParser, GreetingMayComeByteByByte) {
  EXPECT_EQ(take(opening(), 1).got, std::vector<Got>{Got::kGreeting});
}

// A socket that accepts little at a time; MessageParser checks the output.
TEST(TcpOutputBuffer, PartialWritesPreserveAddedMessages) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Descriptor near(ends[0]);
  const Descriptor far(ends[1]);
  OutputBuffer output;
  FrameBatch batch(true);
  const std::string payload(kLeastAlone + 5, 'p');
  const Buffer large = Buffer::copy_of(std::as_bytes(std::span(payload)));
  const std::string first = opening();
  output.add(std::as_bytes(std::span(first)));
  for (int i = 0; i < 200; ++i) {
    output.add(wire::Header{}, large);
    output.add(wire::Header{}, large.slice(0, 100));
    for (int j = 0; j < 3; ++j) batch.add(wire::Header{}, large.slice(0, 9));
    output.add(batch);
    ASSERT_TRUE(batch.empty());
  }
  EXPECT_EQ(output.messages(), 600U);
  std::string came;
  std::array<char, 30'000> read;
  bool waited = false;
  while (!output.empty()) {
    const int error = output.write(near.get());
    waited = waited || error == EAGAIN;
    ASSERT_TRUE(error == 0 || error == EAGAIN);
    const ssize_t count = ::recv(far.get(), read.data(), read.size(), 0);
    if (count > 0) came.append(read.data(), static_cast<std::size_t>(count));
  }
  for (ssize_t count = 0; (count = ::recv(far.get(), read.data(), read.size(), 0)) > 0;) {
    came.append(read.data(), static_cast<std::size_t>(count));
  }
  EXPECT_TRUE(waited);
  EXPECT_EQ(output.messages(), 0U);
  EXPECT_TRUE(large.exclusive());
  const Made made = take(came, 50'000);
  EXPECT_EQ(made.got.size(), 601U);
  EXPECT_EQ(made.got.back(), Got::kFrame);
}

}  // namespace
}  // namespace stretto::tcp
