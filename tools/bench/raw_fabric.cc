// SPDX-License-Identifier: Apache-2.0
// The raw exchange over libfabric, tcp;ofi_rxm: tagged messages, which the provider moves as it
// likes best. A message's tag says to which port and which place there the answer belongs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "tools/bench/fabric_end.h"
#include "tools/bench/now.h"
#include "tools/bench/raw_worker.h"
#include "tools/bench/report_pipe.h"

namespace stretto::bench {
namespace {

constexpr std::uint64_t kAnswer = std::uint64_t{1} << 63;
constexpr int kWait = 1000;  // Milliseconds.
constexpr double kSilence = 10;
// Where a socket address has its port.
constexpr std::size_t kPortAt = 2;

double seconds_since(Time start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::uint32_t port_of(const std::string& name) {
  const auto byte = [&name](std::size_t i) {
    return static_cast<unsigned char>(name[kPortAt + i]);
  };
  return static_cast<std::uint32_t>(byte(0) << 8 | byte(1));
}

std::string name_with(std::string name, std::uint32_t port) {
  name[kPortAt] = static_cast<char>(port >> 8);
  name[kPortAt + 1] = static_cast<char>(port);
  return name;
}

/// Where one message is at a time.
struct Place {
  std::vector<std::byte> bytes;
  bool answering = false;
};

class FabricServer {
 public:
  explicit FabricServer(const RawShape& shape) : shape_(shape), answer_(shape.back_bytes) {}

  bool open() {
    Result<std::unique_ptr<FabricEnd>> opened = FabricEnd::open();
    if (!opened.ok()) return false;
    end_ = *std::move(opened);
    places_.resize(shape_.workers * std::min(shape_.messages, shape_.messages_each));
    return std::ranges::all_of(places_, [this](Place& place) {
      place.bytes.resize(std::max<std::size_t>(shape_.out_bytes, 1));
      return receive(place);
    });
  }
  std::uint32_t port() const { return port_of(end_->name()); }

  bool serve() {
    const FabricEnd::Done done = end_->wait(kWait);
    if (done.nothing) return true;
    auto* place = static_cast<Place*>(done.context);
    // Answers fail when a worker has been killed, which is how the exchange ends.
    if (done.failed || place->answering) return receive(*place);
    const auto port = static_cast<std::uint32_t>(done.tag >> 32);
    const auto [found, is_new] = workers_.try_emplace(port);
    if (is_new && !end_->meet(name_with(end_->name(), port), found->second)) return false;
    place->answering = true;
    const std::span<const std::byte> back = shape_.back_bytes == done.bytes
                                                ? std::span(place->bytes).first(done.bytes)
                                                : std::span(answer_);
    return end_->send(found->second, back, done.tag | kAnswer, place);
  }

 private:
  bool receive(Place& place) {
    place.answering = false;
    return end_->receive(place.bytes, 0, ~std::uint64_t{0}, &place);
  }

  const RawShape& shape_;
  std::vector<std::byte> answer_;
  std::vector<Place> places_;  // Before the end, which may write to them.
  std::unique_ptr<FabricEnd> end_;
  std::map<std::uint32_t, fi_addr_t> workers_;
};

class FabricWorker final : public RawWorker {
 public:
  FabricWorker(const RawShape& shape, std::uint32_t rank)
      : shape_(shape), rank_(rank), memory_(std::max(shape.memory_bytes, shape.out_bytes)) {}

  // libfabric 1.17 crashes if an endpoint is closed while large messages are under way. The process
  // is about to end.
  ~FabricWorker() override { static_cast<void>(end_.release()); }
  FabricWorker(const FabricWorker&) = delete;
  FabricWorker& operator=(const FabricWorker&) = delete;

  bool connect(std::span<const std::uint32_t> ports) override {
    Result<std::unique_ptr<FabricEnd>> opened = FabricEnd::open();
    if (!opened.ok()) return false;
    end_ = *std::move(opened);
    servers_.resize(ports.size());
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (!end_->meet(name_with(end_->name(), ports[i]), servers_[i])) return false;
    }
    return true;
  }

  bool fill() override {
    answers_.resize(std::min(shape_.messages, shape_.messages_each * servers_.size()));
    for (Place& place : answers_) place.bytes.resize(std::max<std::size_t>(shape_.back_bytes, 1));
    return std::ranges::all_of(answers_, [this](Place& place) { return send(place); });
  }

  Result<std::uint64_t> exchange(double time) override {
    std::uint64_t answered = 0;
    Time last = now();
    for (const Time start = now(); seconds_since(start) < time;) {
      const FabricEnd::Done done = end_->wait(kWait);
      if (done.failed || seconds_since(last) > kSilence) {
        return Status(Code::kNetwork, "a raw server does not answer");
      }
      if (done.nothing || done.context == nullptr) continue;
      ++answered;
      last = now();
      if (!send(*static_cast<Place*>(done.context))) {
        return Status(Code::kNetwork, "a raw server takes nothing");
      }
    }
    return answered;
  }

 private:
  bool send(Place& place) {
    const auto index = static_cast<std::uint64_t>(&place - answers_.data());
    const std::uint64_t tag = std::uint64_t{port_of(end_->name())} << 32 | index;
    if (next_ + shape_.out_bytes > memory_.size()) next_ = 0;
    const std::span<const std::byte> bytes(memory_.data() + next_, shape_.out_bytes);
    next_ += shape_.out_bytes;
    return end_->receive(place.bytes, tag | kAnswer, 0, &place) &&
           end_->send(servers_[(rank_ + index) % servers_.size()], bytes, tag, nullptr);
  }

  const RawShape& shape_;
  std::uint32_t rank_;
  std::vector<std::byte> memory_;  // Before the end, which may read it.
  std::size_t next_ = 0;
  std::vector<Place> answers_;
  std::unique_ptr<FabricEnd> end_;
  std::vector<fi_addr_t> servers_;
};

}  // namespace

int echo_over_fabric(const RawShape& shape, int report_descriptor) {
  FabricServer server(shape);
  if (!server.open() || !write_report(report_descriptor, {.port = server.port()}).ok()) return 1;
  while (server.serve()) continue;
  std::fprintf(stderr, "raw exchange: libfabric takes nothing\n");
  return 1;
}

std::unique_ptr<RawWorker> make_fabric_worker(const RawShape& shape, std::uint32_t rank) {
  return std::make_unique<FabricWorker>(shape, rank);
}

}  // namespace stretto::bench
