// SPDX-License-Identifier: Apache-2.0
// libfabric over loopback (tcp;ofi_rxm), an endpoint and a thread at each end that wait without
// spinning. Two ways to move large payloads: reads out of the sender's memory, as Stretto's
// transport does, and tagged messages.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <thread>

#include "common/clock.h"
#include "tools/bench/fabric_end.h"
#include "tools/bench/limits.h"
#include "tools/bench/now.h"
#include "tools/bench/statistics.h"
#include "van/fabric/library.h"

namespace stretto::bench {
namespace {

constexpr std::size_t kUnderWay = 4;
constexpr std::uint64_t kKey = 4711;
constexpr int kLookMs = 10;  // Milliseconds, then it is looked whether all is over.

Status failed() { return {Code::kNetwork, "libfabric ended an operation with an error"}; }

/// Two ends that know each other, and the memory that moves.
struct FabricPair {
  static Result<std::unique_ptr<FabricPair>> open(std::size_t bytes) {
    auto pair = std::make_unique<FabricPair>();
    pair->sent.resize(bytes);
    pair->received.resize(kUnderWay * bytes);
    for (std::unique_ptr<FabricEnd>* end : {&pair->near, &pair->far}) {
      Result<std::unique_ptr<FabricEnd>> opened = FabricEnd::open();
      if (!opened.ok()) return opened.status();
      *end = *std::move(opened);
    }
    if (!pair->near->meet(pair->far->name(), pair->to_far) ||
        !pair->far->meet(pair->near->name(), pair->to_near)) {
      return failed();
    }
    return pair;
  }
  std::span<std::byte> place(std::size_t which) {
    return std::span(received).subspan(which * sent.size(), sent.size());
  }

  std::vector<std::byte> sent;
  std::vector<std::byte> received;
  std::array<char, kUnderWay> contexts{};
  std::unique_ptr<FabricEnd> near;
  std::unique_ptr<FabricEnd> far;
  fi_addr_t to_far = 0;
  fi_addr_t to_near = 0;
};

// The far end reads; the near end only makes progress.
Result<double> read_stream(std::size_t bytes, Duration time) {
  Result<std::unique_ptr<FabricPair>> opened = FabricPair::open(bytes);
  if (!opened.ok()) return opened.status();
  FabricPair& pair = **opened;
  if (!pair.near->expose(pair.sent, kKey)) return failed();
  std::jthread sender([&pair](const std::stop_token& stop) {
    while (!stop.stop_requested()) pair.near->wait(kLookMs);
  });
  bool fine = true;
  const auto begin = [&](std::size_t which) {
    fine = pair.far->read(pair.to_near, pair.place(which), kKey, &pair.contexts[which]) && fine;
  };
  for (std::size_t i = 0; i < kUnderWay; ++i) begin(i);
  std::size_t under_way = kUnderWay;
  double got = 0;
  const Time start = now();
  while (fine && under_way > 0) {
    const FabricEnd::Done done = pair.far->wait(kLookMs);
    if (done.nothing) continue;
    fine = !done.failed;
    --under_way;
    got += static_cast<double>(bytes);
    if (now() - start > time || !fine) continue;
    begin(static_cast<std::size_t>(static_cast<char*>(done.context) - pair.contexts.data()));
    ++under_way;
  }
  if (!fine) return failed();
  return got / seconds(now() - start) / 1e9;
}

// The near end sends, the far end always has as many receives posted.
Result<double> tagged_stream(std::size_t bytes, Duration time) {
  Result<std::unique_ptr<FabricPair>> opened = FabricPair::open(bytes);
  if (!opened.ok()) return opened.status();
  FabricPair& pair = **opened;
  std::atomic<bool> fine{true};
  const auto post = [&](std::size_t which) {
    if (!pair.far->receive(pair.place(which), 1, 0, &pair.contexts[which])) fine = false;
  };
  for (std::size_t i = 0; i < kUnderWay; ++i) post(i);
  std::jthread sender([&](const std::stop_token& stop) {
    std::size_t under_way = 0;
    while (fine && !(stop.stop_requested() && under_way == 0)) {
      for (; !stop.stop_requested() && under_way < kUnderWay; ++under_way) {
        if (!pair.near->send(pair.to_far, pair.sent, 1, nullptr)) fine = false;
      }
      const FabricEnd::Done done = pair.near->wait(kLookMs);
      if (done.failed) fine = false;
      if (!done.nothing) --under_way;
    }
  });
  double got = 0;
  const auto take = [&] {
    const FabricEnd::Done done = pair.far->wait(kLookMs);
    if (done.nothing) return;
    if (done.failed) fine = false;
    got += static_cast<double>(done.bytes);
    post(static_cast<std::size_t>(static_cast<char*>(done.context) - pair.contexts.data()));
  };
  const Time start = now();
  while (fine && now() - start < time) take();
  const double rate = got / seconds(now() - start) / 1e9;
  // What is under way needs receives until it has ended.
  sender.request_stop();
  std::jthread drain([&take](const std::stop_token& stop) {
    while (!stop.stop_requested()) take();
  });
  sender.join();
  if (!fine) return failed();
  return rate;
}

// There and back, in microseconds: the median.
Result<double> fabric_ping(Duration time) {
  Result<std::unique_ptr<FabricPair>> opened = FabricPair::open(kPingBytes);
  if (!opened.ok()) return opened.status();
  FabricPair& pair = **opened;
  const auto turn = [&pair](FabricEnd& end, fi_addr_t to, std::size_t place, bool first,
                            const auto& over) {
    bool fine = end.receive(pair.place(place), 1, 0, &pair) &&
                (!first || end.send(to, pair.sent, 1, nullptr));
    for (bool came = false; fine && !came && !over();) {
      const FabricEnd::Done done = end.wait(kLookMs);
      fine = !done.failed;
      came = done.context == &pair;
    }
    return fine && (first || over() || end.send(to, pair.sent, 1, nullptr));
  };
  std::jthread echo([&](const std::stop_token& stop) {
    const auto over = [&stop] { return stop.stop_requested(); };
    while (!over() && turn(*pair.far, pair.to_near, 1, false, over)) continue;
  });
  std::vector<double> round_trips;
  bool fine = true;
  for (const Time start = now(); fine && now() - start < time;) {
    const Time sent = now();
    fine = turn(*pair.near, pair.to_far, 0, true, [&] { return now() - sent > 5s; });
    round_trips.push_back(1e6 * seconds(now() - sent));
  }
  if (!fine) return failed();
  return median_of(std::move(round_trips));
}

}  // namespace

std::vector<Limit> fabric_limits() {
  std::vector<Limit> limits;
  if (fabric::library() == nullptr) return limits;
  for (const std::size_t bytes : {std::size_t{256} << 10, std::size_t{1} << 20}) {
    limits.push_back(
        {"fabric_read", bytes, false, [bytes](Duration time) { return read_stream(bytes, time); }});
    limits.push_back({"fabric_tagged", bytes, false,
                      [bytes](Duration time) { return tagged_stream(bytes, time); }});
  }
  limits.push_back({"fabric_tagged", kPingBytes, true, fabric_ping});
  return limits;
}

}  // namespace stretto::bench
