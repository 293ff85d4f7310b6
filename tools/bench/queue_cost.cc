// SPDX-License-Identifier: Apache-2.0
// What it costs to choose the next slice: a pick by the number of links, and by the number of
// urgencies that wait for one link. Printed as a table; no sockets, one thread.
#include <cstdio>

#include "tools/bench/now.h"
#include "van/van.h"

namespace stretto::bench {
namespace {

constexpr int kPicks = 2000;

Frame frame_of(std::int32_t priority, const Buffer& payload) {
  Frame frame;
  frame.header.priority = priority;
  frame.payload = payload;
  return frame;
}

/// Microseconds of a pick with what follows it: what was picked is taken and credited, and as much
/// is pushed again.
double pick_us(std::uint32_t links, std::int32_t urgencies) {
  SendQueue queue(1 << 20, std::uint64_t{1} << 40);
  const Buffer payload = Buffer::allocate(16 << 10);
  for (LinkId link = 1; link <= links; ++link) {
    queue.add_link(link);
    for (std::int32_t i = 0; i < urgencies; ++i) queue.push(link, frame_of(i, payload));
  }
  const Time since = now();
  for (int i = 0; i < kPicks; ++i) {
    const auto pick = queue.next();
    if (!pick) return -1;
    const LinkId link = pick->link;
    const std::int32_t priority = pick->frame->header.priority;
    queue.taken(*pick);
    if (!queue.credited(link, queue.sent(link))) return -1;
    queue.push(link, frame_of(priority, payload));
  }
  return std::chrono::duration<double, std::micro>(now() - since).count() / kPicks;
}

int run() {
  std::printf("%8s %10s %10s\n", "links", "urgencies", "pick_us");
  for (const std::uint32_t links : {1U, 10U, 100U, 1000U, 4000U}) {
    std::printf("%8u %10d %10.3f\n", links, 1, pick_us(links, 1));
  }
  for (const std::int32_t urgencies : {10, 1000, 20000}) {
    std::printf("%8u %10d %10.3f\n", 1U, urgencies, pick_us(1, urgencies));
  }
  return 0;
}

}  // namespace
}  // namespace stretto::bench

int main() { return stretto::bench::run(); }
