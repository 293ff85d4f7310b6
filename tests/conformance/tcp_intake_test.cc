// SPDX-License-Identifier: Apache-2.0
// The bytes of an accepted connection: what is made of them, in whatever pieces they come, and what
// is never waited for; and what leaves by one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <string>

#include "common/descriptor.h"
#include "van/tcp/intake.h"
#include "van/tcp/outlet.h"
#include "van/tcp/zmtp.h"

namespace stretto::tcp {
namespace {

using Got = Intake::Got;

constexpr std::size_t kMostPayload = 20'000;

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string part(const std::string& body, bool more, std::size_t size) {
  std::array<std::byte, kMostHeadBytes> head{};
  const std::size_t length = write_head(head, size, more);
  return text_of(std::span(head).first(length)) + body;
}
std::string part(const std::string& body, bool more) { return part(body, more, body.size()); }

std::string frame(std::size_t payload_bytes) {
  return part(std::string(wire::kHeaderBytes, 'h'), true) +
         part(std::string(payload_bytes, 'p'), false);
}

std::string ready(const std::string& type) {
  const std::string body =
      "\x05READY\x0bSocket-Type" + std::string(3, '\0') + static_cast<char>(type.size()) + type;
  return std::string("\x04") + static_cast<char>(body.size()) + body;
}

std::string opening() { return text_of(our_greeting()) + ready("DEALER"); }

struct Made {
  std::vector<Got> got;
  std::vector<std::size_t> payloads;
  std::size_t most_held = 0;
};

Made take(const std::string& bytes, std::size_t piece) {
  Made made;
  Intake intake(kMostPayload, kDealer);
  std::string unread;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    unread += bytes.substr(at, piece);
    std::span<const std::byte> left = std::as_bytes(std::span(unread));
    for (Got got = intake.take(left); got != Got::kNothing; got = intake.take(left)) {
      made.got.push_back(got);
      if (got == Got::kMalformed) return made;
      if (got == Got::kFrame && intake.frames() == 1) {
        made.payloads.push_back(intake.take_payload().size());
      }
    }
    made.most_held = std::max(made.most_held, intake.held_bytes());
    unread = text_of(left);
  }
  return made;
}

TEST(TcpIntake, MakesTheSameOfBytesInAnyPieces) {
  const std::string bytes = opening() + part("", false) + frame(0) + frame(100) +
                            frame(kLeastTaken - 1) + frame(kLeastTaken) + frame(kMostPayload);
  const std::vector<Got> wanted = {Got::kGreeting, Got::kReady, Got::kHello, Got::kFrame,
                                   Got::kFrame,    Got::kFrame, Got::kFrame, Got::kFrame};
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{7}, std::size_t{4096}, bytes.size()}) {
    const Made made = take(bytes, piece);
    EXPECT_EQ(made.got, wanted) << piece;
    EXPECT_EQ(made.payloads,
              (std::vector<std::size_t>{0, 100, kLeastTaken - 1, kLeastTaken, kMostPayload}));
    EXPECT_LE(made.most_held, kMostPayload + wire::kHeaderBytes);
  }
}

// Whatever is said about what is to come, nothing is waited for that would not be taken.
TEST(TcpIntake, RefusesByTheHeadAlone) {
  const std::string header(wire::kHeaderBytes, 'h');
  const std::string refused[] = {
      part("", true, 1),                                        // A part that no frame begins with,
      part("", true, 0),                                        // an empty one and more,
      part("", true, (kMostBatched + 1) * wire::kHeaderBytes),  // too many headers,
      part("", false, wire::kHeaderBytes),                      // headers and no payload,
      part(header, true) + part("", true, 1),                   // a third part to come,
      part(header, true) + part("", false, kMostPayload + 1),   // a payload that is too large,
      part(header + header, true) + part("", false, kMostBatchPart + 1),
      std::string("\x04\x01", 2),   // a command,
      std::string("\x08\x01", 2)};  // flags that there are not.
  for (const std::string& message : refused) {
    const Made made = take(opening() + part("", false) + message, 1);
    ASSERT_FALSE(made.got.empty());
    EXPECT_EQ(made.got.back(), Got::kMalformed) << testing::PrintToString(message);
    EXPECT_LE(made.most_held, std::size_t{2} * kMostBatched);
  }
}

TEST(TcpIntake, RefusesHandshakesOfOthers) {
  std::string version = opening();
  version[10] = 2;
  std::string mechanism = opening();
  mechanism.replace(12, 4, "PLAI");
  const std::string greeting = text_of(our_greeting());
  for (const std::string& bytes :
       {version, mechanism, std::string(64, 'x'), greeting + ready("PUB"),
        greeting + part("", false), greeting + part("x", true, kMostReadyBytes + 1),
        greeting + std::string("\x04\x08\x05READY\xff", 9) + "xx"}) {
    const Made made = take(bytes, 1);
    ASSERT_FALSE(made.got.empty());
    EXPECT_EQ(made.got.back(), Got::kMalformed);
  }
}

TEST(TcpIntake, OurReadyIsOfTheTypeThatWeAre) {
  for (const std::string_view type : {kRouter, kDealer}) {
    const std::vector<std::byte> bytes = our_ready(type);
    EXPECT_EQ(bytes.size(), 43U);
    const auto body = std::span(bytes).subspan(2);
    EXPECT_EQ(std::to_integer<std::size_t>(bytes[1]), body.size());
    EXPECT_TRUE(is_ready(body, type));
    EXPECT_FALSE(is_ready(body, type == kRouter ? kDealer : kRouter));
  }
}

// A socket that takes little at a time; what comes out is what Intake takes.
TEST(TcpOutlet, WhatLeavesIsWhatWasAdded) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  const Descriptor near(ends[0]);
  const Descriptor far(ends[1]);
  Outlet outlet;
  MessageBatch batch(true);
  const std::string payload(kLeastTaken + 5, 'p');
  const Buffer large = Buffer::copy_of(std::as_bytes(std::span(payload)));
  const std::string first = opening();
  outlet.add(std::as_bytes(std::span(first)));
  for (int i = 0; i < 200; ++i) {
    outlet.add(wire::Header{}, large);
    outlet.add(wire::Header{}, large.slice(0, 100));
    for (int j = 0; j < 3; ++j) batch.add(wire::Header{}, large.slice(0, 9));
    outlet.add(batch);
    ASSERT_TRUE(batch.empty());
  }
  EXPECT_EQ(outlet.messages(), 600U);
  std::string came;
  std::array<char, 30'000> read;
  bool waited = false;
  while (!outlet.empty()) {
    const int error = outlet.write(near.get());
    waited = waited || error == EAGAIN;
    ASSERT_TRUE(error == 0 || error == EAGAIN);
    const ssize_t count = ::recv(far.get(), read.data(), read.size(), 0);
    if (count > 0) came.append(read.data(), static_cast<std::size_t>(count));
  }
  for (ssize_t count = 0; (count = ::recv(far.get(), read.data(), read.size(), 0)) > 0;) {
    came.append(read.data(), static_cast<std::size_t>(count));
  }
  EXPECT_TRUE(waited);
  EXPECT_EQ(outlet.messages(), 0U);
  EXPECT_TRUE(large.exclusive());
  const Made made = take(came, 50'000);
  EXPECT_EQ(made.got.size(), 602U);
  EXPECT_EQ(made.got.back(), Got::kFrame);
}

}  // namespace
}  // namespace stretto::tcp
