// SPDX-License-Identifier: Apache-2.0
// The script's side of a transport: nothing happens but what the test has written.
#include "tests/van/far_end.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "common/version.h"

namespace stretto::fake {
namespace {

/// Thread: loop.
class ScriptedTransport final : public Transport {
 public:
  explicit ScriptedTransport(Wire& wire) : wire_(wire) {}

  Result<std::string> listen(std::string_view address) override {
    if (!wire_.refusal.ok()) return wire_.refusal;
    return std::string(address);
  }
  Result<LinkId> connect(std::string_view address) override {
    if (!wire_.refusal.ok()) return wire_.refusal;
    wire_.connected.emplace_back(address);
    return static_cast<LinkId>(wire_.connected.size());
  }
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override {
    if (wire_.broken.count(link) != 0) return Sent::kBroken;
    if (wire_.full.count(link) != 0) return Sent::kFull;
    EXPECT_EQ(header.bytes, payload.size());
    wire_.sent.push_back({link, header, wire_.lend ? payload : Buffer::copy_of(payload.bytes())});
    return Sent::kTaken;
  }
  void close(LinkId link) override { wire_.closed.push_back(link); }
  void poll(Sink& sink, Duration) override {
    auto events = std::exchange(wire_.events, {});
    for (const auto& event : events) event(sink);
  }
  void wake() override { ++wire_.wakes; }
  ~ScriptedTransport() override {  // Its leases end with it; what was sent stays to be looked at.
    for (fake::Sent& sent : wire_.sent) sent.payload = Buffer::copy_of(sent.payload.bytes());
  }
  bool is_local(LinkId) const override { return wire_.local; }
  bool is_made(LinkId) const override { return wire_.made; }

 private:
  Wire& wire_;
};

}  // namespace

std::unique_ptr<Transport> scripted_transport(Wire& wire) {
  return std::make_unique<ScriptedTransport>(wire);
}

void FarEnd::connect() {
  wire_.events.push_back([link = link_](Transport::Sink& sink) { sink.on_link(link); });
}

void FarEnd::say(const control::Message& message) { send({}, control::encode(message)); }

void FarEnd::send(wire::Header header, Buffer payload) {
  header.sender = node;
  header.epoch = epoch;
  header.sequence = ++sequence;
  header.credit = credit;
  header.acked = acked;
  header.bytes = static_cast<std::uint32_t>(payload.size());
  if (header.kind == wire::Kind::kPush) header.push_sequence = ++pushes;
  send_raw(header, std::move(payload));
}

void FarEnd::send_raw(const wire::Header& header, Buffer payload) {
  wire_.events.push_back([link = link_, bytes = wire::encode(header),
                          payload = std::move(payload)](Transport::Sink& sink) {
    sink.on_frame(link, wire::HeaderView(bytes), payload);
  });
}

void FarEnd::break_link(Code why) {
  wire_.events.push_back([link = link_, why](Transport::Sink& sink) {
    sink.on_broken(link, {why, "the connection was reset"});
  });
}

void FarEnd::listen() {
  std::erase_if(wire_.sent, [this](const Sent& sent) {
    if (sent.link != link_) return false;
    EXPECT_EQ(sent.header.sequence, heard_sequence + 1) << "a gap in what the near end sends";
    EXPECT_TRUE(wire::decode(wire::encode(sent.header), sent.payload.size()).ok());
    heard_sequence = sent.header.sequence;
    heard_credit = sent.header.credit;
    heard_acked = sent.header.acked;
    if (sent.header.kind == wire::Kind::kControl) {
      Result<control::Message> message = control::decode(sent.payload);
      EXPECT_TRUE(message.ok()) << message.status().text();
      if (message.ok()) controls_.push_back(*std::move(message));
    } else if (sent.header.kind == wire::Kind::kCredit) {
      ++heard_credits;
      last_credit = sent.header;
    } else {
      credit += wire::kHeaderBytes + sent.payload.size();
      data_.push_back(sent);
    }
    return true;
  });
}

std::vector<control::Message> FarEnd::controls() {
  listen();
  return std::exchange(controls_, {});
}

std::vector<Sent> FarEnd::data() {
  listen();
  return std::exchange(data_, {});
}

control::Message FarEnd::control() {
  const auto all = controls();
  EXPECT_EQ(all.size(), 1U) << "control messages on link " << link_;
  return all.empty() ? control::Message() : all.back();
}

Sent FarEnd::datum() {
  const auto all = data();
  EXPECT_EQ(all.size(), 1U) << "data frames on link " << link_;
  return all.empty() ? Sent() : all.back();
}

bool FarEnd::closed() const { return std::ranges::count(wire_.closed, link_) > 0; }

Config config(Role role, std::int64_t rank, std::uint32_t workers) {
  Config config;
  config.role = role;
  config.rank = rank;
  config.workers = workers;
  config.scheduler = "scheduler:9000";
  config.token = "secret";
  config.rendezvous_timeout = 10s;
  config.operation_timeout = 20s;
  config.remakes_links = false;  // A session ends with its link, so that its end can be looked at.
  return config;
}

control::Hello hello(Role role, std::int64_t rank, NodeId node, std::uint32_t workers) {
  return {.protocol = wire::kProtocol,
          .token = "secret",
          .role = role,
          .rank = rank,
          .workers = workers,
          .servers = 1,
          .node = node,
          .address = role == Role::kServer ? "host:7000" : "",
          .shards = 1,
          .host = fmt::format("host-{}-{}:1", static_cast<int>(role), rank),
          .version = kVersion};
}

control::Welcome welcome(NodeId node, Rank rank) { return {.node = node, .rank = rank}; }

control::Leave leave() { return {}; }

control::Heartbeat heartbeat() { return {.number = 5}; }

control::Barrier barrier(std::uint64_t number) { return {.number = number}; }

Roster roster(std::uint32_t workers, std::uint32_t shards) {
  Roster roster{.epoch = 1,
                .fence = 1,
                .workers = workers,
                .servers = 1,
                .slots = kSlots,
                .members = {},
                .settings = {}};
  for (std::uint32_t i = 0; i < workers; ++i) {
    roster.members.push_back(
        {.node = 10 + i, .role = Role::kWorker, .rank = i, .shard = 0, .address = {}});
  }
  for (std::uint32_t i = 0; i < shards; ++i) {
    roster.members.push_back({.node = 50 + i,
                              .role = Role::kServer,
                              .rank = 0,
                              .shard = i,
                              .address = fmt::format("shard{}:1", i)});
  }
  return roster;
}

TensorSpec spec(const std::string& name, Dtype dtype, std::uint64_t elements,
                const TensorOptions& options) {
  return {.name = name, .dtype = dtype, .elements = elements, .options = options};
}

Buffer bytes_of(const std::vector<float>& numbers) {
  return Buffer::copy_of(std::as_bytes(std::span(numbers)));
}

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> numbers(bytes.size() / sizeof(float));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(float));
  return numbers;
}

wire::Header push_header(wire::Key key, std::uint64_t round, unsigned flags, Dtype dtype) {
  wire::Header header;
  header.kind = wire::Kind::kPush;
  header.flags = static_cast<std::uint16_t>(flags);
  header.dtype = static_cast<std::uint8_t>(dtype);
  header.key = key;
  header.version = round;
  return header;
}

}  // namespace stretto::fake
