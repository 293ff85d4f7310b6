// SPDX-License-Identifier: Apache-2.0
// Output of a launcher's agent: noise of a login shell, a greeting, frames. Input: a flag, a piece
// size, then the bytes, which are fed in pieces of that size.
#include <algorithm>
#include <string>

#include "common/check.h"
#include "tests/fuzz/input.h"
#include "tools/launch/protocol/agent_protocol.h"

namespace stretto {
namespace {

void check_frame(const launch::AgentFrame& frame) {
  launch::AgentFrameReader reader(true);
  reader.feed(launch::encoded(frame));
  const auto again = reader.next();
  STRETTO_CHECK(again.ok() && again->has_value() && **again == frame);
  const Result<launch::AgentHello> hello = launch::hello_of(frame);
  if (!hello.ok()) return;
  const launch::AgentFrame said = launch::frame_of(*hello);
  STRETTO_CHECK(said.number == frame.number && said.texts == frame.texts);
  static_cast<void>(hello->address_of("eth0"));
}

void run(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 4096;
  fuzz::Input input(data, size);
  const bool greeted = input.flag();
  const std::size_t piece = input.byte() + std::size_t{1};
  launch::AgentFrameReader reader(greeted, kMost);
  while (!input.empty()) {
    const Buffer bytes = input.payload(std::min(piece, input.size()));
    reader.feed({reinterpret_cast<const char*>(bytes.bytes().data()), bytes.bytes().size()});
    while (true) {
      const auto frame = reader.next();
      if (!frame.ok()) {
        STRETTO_CHECK(frame.status().code() == Code::kMalformed);
        return;
      }
      if (!frame->has_value()) break;
      check_frame(**frame);
    }
  }
  STRETTO_CHECK(reader.take_noise().size() <= size);
}

}  // namespace
}  // namespace stretto

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  stretto::run(data, size);
  return 0;
}
