// SPDX-License-Identifier: Apache-2.0
// The cost of a pick, by the number of links and of priorities waiting for one link. The cost of
// changing priorities, by the number of waiting frames with a tag each. And the cost of a host
// window entry among this program's other endpoints. No sockets, one thread.
#include <fmt/core.h>
#include <time.h>
#include <unistd.h>

#include <list>
#include <string_view>
#include <utility>
#include <vector>

#include "common/check.h"
#include "tools/bench/settings/benchmarks.h"
#include "tools/bench/support/statistics.h"
#include "van/engine/van.h"

namespace stretto::bench {
namespace {

constexpr int kPicksAtOnce = 1000;  // Between reads of the clock.

struct Case {
  std::string_view what;
  std::uint32_t links = 1;
  std::uint32_t frames = 1;  // For each link: each with its own priority, or its own tag.
};

constexpr Case kCases[] = {{"pick", 1, 1},
                           {"pick", 10, 1},
                           {"pick", 100, 1},
                           {"pick", 1000, 1},
                           {"pick", 4000, 1},
                           {"pick", 1, 10},
                           {"pick", 1, 1000},
                           {"pick", 1, 20'000},
                           {"set_urgency", 1, 40},
                           {"set_urgency", 1, 4000},
                           {"set_urgency", 1, 40'000},
                           {"set_urgency", 10, 4000},
                           {"pause_resume", 1, 40'000},
                           {"cancel", 1, 40'000},
                           {"tell_and_look", 1, 0},
                           {"tell_and_look", 2, 0},
                           {"tell_and_look", 8, 0},
                           {"tell_and_look", 64, 0}};

Frame frame_of(std::int32_t priority, std::uint64_t tag, const Buffer& payload) {
  Frame frame;
  frame.header.priority = priority;
  frame.payload = payload;
  frame.tag = tag;
  return frame;
}

/// This thread's CPU time, so that other load does not count.
double cpu_us() {
  timespec time{};
  STRETTO_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) * 1e-3;
}

/// Microseconds of a pick with its follow-up: the picked slice is taken and credited, and a frame
/// of that size is pushed again.
double pick_us(const Case& asked, double seconds) {
  SendQueue queue(1 << 20, std::uint64_t{1} << 40);
  const Buffer payload = Buffer::allocate(16 << 10);
  std::uint64_t tag = 0;
  for (LinkId link = 1; link <= asked.links; ++link) {
    queue.add_link(link);
    for (std::uint32_t i = 0; i < asked.frames; ++i) {
      queue.push(link, frame_of(static_cast<std::int32_t>(i), ++tag, payload));
    }
  }
  const double since = cpu_us();
  double picks = 0;
  do {
    for (int i = 0; i < kPicksAtOnce; ++i) {
      const auto pick = queue.next();
      STRETTO_CHECK(pick);
      const LinkId link = pick->link;
      const std::int32_t priority = pick->frame->header.priority;
      queue.taken(*pick);
      STRETTO_CHECK(queue.windows().credited(link, queue.windows().sent(link)));
      queue.push(link, frame_of(priority, ++tag, payload));
    }
    picks += kPicksAtOnce;
  } while ((cpu_us() - since) < seconds * 1e6);
  return (cpu_us() - since) / picks;
}

/// Microseconds of a call that changes each frame once, in a scattered order.
double steer_us(const Case& asked) {
  SendQueue queue(1 << 20, std::uint64_t{1} << 40);
  const Buffer payload = Buffer::allocate(4 << 10);
  const std::uint64_t tags = std::uint64_t{asked.links} * asked.frames;
  for (LinkId link = 1; link <= asked.links; ++link) queue.add_link(link);
  for (std::uint64_t tag = 1; tag <= tags; ++tag) {
    queue.push(static_cast<LinkId>(tag % asked.links + 1), frame_of(0, tag, payload));
  }
  constexpr std::uint64_t kStride = 7919;  // A prime that divides no number of tags here.
  const double since = cpu_us();
  for (std::uint64_t i = 0; i < tags; ++i) {
    const std::uint64_t tag = i * kStride % tags + 1;
    if (asked.what == "cancel") {
      queue.cancel(tag);
    } else if (asked.what == "pause_resume") {
      queue.pause(tag);
      queue.resume(tag);
    } else {
      queue.set_urgency(tag, {.priority = static_cast<std::int32_t>(tag % 1000)});
    }
  }
  return (cpu_us() - since) / static_cast<double>(tags);
}

/// Microseconds to publish this endpoint's load and to read the others', with `links` endpoints in
/// all.
double share_us(const Case& asked, double seconds) {
  const host::HostOptions options{
      .policy = HostPolicy::kUrgent,
      .job = 1,
      .path = fmt::format("{}/stretto-bench-{}", host::kSharedMemory, ::getpid())};
  const Time now{std::chrono::hours(1)};
  std::list<host::HostWindow> all;
  const host::HostEntry mine{.waiting = true, .paths = {.rate = 1e8}};
  for (std::uint32_t i = 0; i < asked.links; ++i) {
    all.emplace_back(options).join(now);
    all.back().tell(mine, now);
  }
  const double since = cpu_us();
  double times = 0;
  do {
    for (int i = 0; i < kPicksAtOnce; ++i) {
      all.front().tell(mine, now);
      STRETTO_CHECK(all.front().look(mine, now).part > 0);
    }
    times += kPicksAtOnce;
  } while ((cpu_us() - since) < seconds * 1e6);
  return (cpu_us() - since) / times;
}

double call_us(const Case& asked, double seconds) {
  if (asked.what == "pick") return pick_us(asked, seconds);
  return asked.what == "tell_and_look" ? share_us(asked, seconds) : steer_us(asked);
}

}  // namespace

Status run_queue(const Settings& settings, Output& output) {
  output.title(
      "queue: CPU microseconds of a call, while so many frames wait for each of so many links");
  output.columns({"call", "links", "frames", "us_per_call"});
  for (const Case& asked : kCases) {
    std::vector<double> times;
    for (std::uint32_t i = 0; i < settings.repeats; ++i) {
      times.push_back(call_us(asked, settings.seconds));
    }
    Record record;
    record.text("name", "queue")
        .text("call", asked.what)
        .count("links", asked.links)
        .count("frames", asked.frames)
        .real("us_per_call", median_of(std::move(times)));
    output.row(record);
  }
  return {};
}

}  // namespace stretto::bench
