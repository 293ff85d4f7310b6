// SPDX-License-Identifier: Apache-2.0
// An encrypted connection between whose ends somebody sits: each command of the handshake and each
// sealed message goes on as it is, or changed, cut, put elsewhere or made up. Whatever is let
// through is what was said, in the order in which it was said. Input: for each command what is done
// to it; the pieces in which bytes come; for each message its size and what is done to it.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "common/check.h"
#include "tests/fuzz/input.h"
#include "van/tcp/curve.h"
#include "van/tcp/intake.h"
#include "van/tcp/zmtp.h"

namespace stretto {
namespace {

using tcp::CurveHandshake;
using tcp::CurveSide;
using tcp::Intake;
using Wire = std::vector<std::byte>;

constexpr std::size_t kMostPayload = 20'000;

const tcp::CurveIdentity& identity() {
  static const tcp::CurveIdentity made =
      tcp::curve_identity_from("the secret of the fuzzer").or_exit();
  return made;
}

// What somebody in between does; false: nothing.
bool meddle(fuzz::Input& input, Wire& bytes) {
  switch (input.below(5)) {
    case 1:
      if (!bytes.empty()) {
        bytes[input.take<std::uint16_t>() % bytes.size()] ^= static_cast<std::byte>(input.byte());
      }
      return true;
    case 2:
      bytes.resize(input.take<std::uint16_t>() % (bytes.size() + 1));
      return true;
    case 3: {
      const Buffer more = input.payload(input.byte());
      bytes.insert(bytes.end(), more.bytes().begin(), more.bytes().end());
      return true;
    }
    case 4: {
      const Buffer made = input.payload(input.take<std::uint16_t>() % 1200);
      bytes.assign(made.bytes().begin(), made.bytes().end());
      return true;
    }
    default:
      return false;
  }
}

Wire body_of(const Wire& command) {
  const auto head = tcp::read_head(command);
  STRETTO_CHECK(head && head->command && head->length + head->size == command.size());
  return {command.begin() + static_cast<std::ptrdiff_t>(head->length), command.end()};
}

// Both ends until they are done; false: one has refused, for a reason.
bool shake(fuzz::Input& input, CurveHandshake& dialer, CurveHandshake& listener) {
  Wire said = dialer.begin();
  bool meddled = false;
  for (int number = 1; number <= 4; ++number) {
    Wire body = body_of(said);
    meddled = meddle(input, body) || meddled;
    CurveHandshake& taker = number % 2 == 1 ? listener : dialer;
    said.clear();
    const CurveHandshake::Step step = taker.take(body, said);
    if (step == CurveHandshake::Step::kRefused) {
      STRETTO_CHECK(meddled && said.empty());
      return false;
    }
    STRETTO_CHECK((step == CurveHandshake::Step::kDone) == (number >= 3));
  }
  return true;
}

Wire sealed(tcp::CurveSealer& sealer, bool more, std::span<const std::byte> part) {
  Wire whole = tcp::message_head(tcp::kSealBytes + part.size());
  const std::size_t head = whole.size();
  whole.resize(head + tcp::kSealBytes + part.size());
  sealer.seal(more ? tcp::kSealedMore : 0, part, std::span(whole).subspan(head));
  return whole;
}

// Message `number`: its header says so in its first byte, its payload in all of them.
Wire message(tcp::CurveSealer& sealer, std::uint8_t number, std::size_t size) {
  const Wire header(wire::kHeaderBytes, std::byte{number});
  const Wire payload(size, std::byte{number});
  Wire whole = sealed(sealer, true, header);
  const Wire second = sealed(sealer, false, payload);
  whole.insert(whole.end(), second.begin(), second.end());
  return whole;
}

// True: the connection goes on.
bool take_all(Intake& intake, Wire& unread, int& last) {
  std::span<const std::byte> left = unread;
  for (Intake::Got got = intake.take(left); got != Intake::Got::kNothing; got = intake.take(left)) {
    if (got == Intake::Got::kMalformed) return false;
    STRETTO_CHECK(got == Intake::Got::kFrame && intake.frames() == 1);
    const int number = std::to_integer<int>(intake.headers()[0]);
    STRETTO_CHECK(number == last + 1);
    last = number;
    const auto is_its_own = [number](std::byte byte) { return byte == std::byte(number); };
    STRETTO_CHECK(std::ranges::all_of(intake.headers(), is_its_own));
    STRETTO_CHECK(std::ranges::all_of(intake.take_payload().bytes(), is_its_own));
  }
  STRETTO_CHECK(intake.held_bytes() <= kMostPayload + 2 * tcp::kMostBatched * wire::kHeaderBytes);
  unread = Wire(left.begin(), left.end());
  return true;
}

void talk(fuzz::Input& input, const CurveHandshake& dialer, const CurveHandshake& listener) {
  Intake intake(kMostPayload, tcp::kDealer, tcp::Mechanism::kCurve);
  const auto greeting = tcp::our_greeting(tcp::Mechanism::kCurve, false);
  std::span<const std::byte> left = greeting;
  STRETTO_CHECK(intake.take(left) == Intake::Got::kGreeting);
  intake.secure_by(listener.opener());
  tcp::CurveSealer sealer = dialer.sealer();
  const std::size_t piece = 1 + input.take<std::uint16_t>();
  std::vector<Wire> messages;
  Wire stream;
  bool meddled = false;
  while (!input.empty() && messages.size() < 32) {
    const auto number = static_cast<std::uint8_t>(messages.size() + 1);
    messages.push_back(message(sealer, number, input.take<std::uint16_t>() % kMostPayload));
    Wire goes_on = messages.back();
    if (input.rarely(8)) {  // Another one, again or too early.
      goes_on = messages[input.below(messages.size())];
      meddled = true;
    }
    if (!input.flag()) meddled = meddle(input, goes_on) || meddled;
    stream.insert(stream.end(), goes_on.begin(), goes_on.end());
  }
  Wire unread;
  int last = 0;
  bool goes_on = true;
  for (std::size_t at = 0; at < stream.size() && goes_on; at += piece) {
    const auto next = std::span(stream).subspan(at, std::min(piece, stream.size() - at));
    unread.insert(unread.end(), next.begin(), next.end());
    goes_on = take_all(intake, unread, last);
  }
  STRETTO_CHECK(meddled || (goes_on && last == static_cast<int>(messages.size())));
}

void run(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  CurveHandshake dialer(identity(), CurveSide::kDialer, tcp::kDealer, tcp::kRouter);
  CurveHandshake listener(identity(), CurveSide::kListener, tcp::kRouter, tcp::kDealer);
  if (shake(input, dialer, listener)) talk(input, dialer, listener);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
