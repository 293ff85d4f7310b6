// SPDX-License-Identifier: Apache-2.0
// Virtual links: they keep the order, delay frames, and inject faults.
#include "tests/sim/sim_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "common/config/config.h"

namespace stretto::sim {
namespace {

constexpr int kMostFramesAPoll = 64;

std::size_t charge_of(const Buffer& payload) { return wire::kHeaderBytes + payload.size(); }

}  // namespace

/// An endpoint's view of the network. Thread: the simulation's.
class SimTransport final : public Transport {
 public:
  SimTransport(SimNetwork& network, std::string name) : network_(network), name_(std::move(name)) {}
  ~SimTransport() override { network_.leave(name_); }

  Result<std::string> listen(std::string_view address) override {
    return network_.listen(name_, address);
  }
  Result<LinkId> connect(std::string_view address) override {
    return network_.connect(name_, address);
  }
  Sent try_send(LinkId link, const wire::Header& header, const Buffer& payload) override {
    return network_.try_send(name_, link, header, payload);
  }
  void close(LinkId link) override { network_.close(name_, link); }
  void poll(Sink& sink, Duration wait) override { network_.poll(name_, sink, wait); }
  void wake() override { network_.endpoints_.at(name_).woken = true; }
  void set_dead_after(Duration limit) override { network_.endpoints_.at(name_).dead_after = limit; }
  bool is_local(LinkId) const override { return network_.options_.local; }

 private:
  SimNetwork& network_;
  std::string name_;
};

SimNetwork::SimNetwork(VirtualClock& clock, std::uint64_t seed, const NetworkOptions& options)
    : clock_(clock), random_(seed), options_(options) {}

SimNetwork::~SimNetwork() = default;

std::unique_ptr<Transport> SimNetwork::endpoint(const std::string& name) {
  endpoints_[name] = Endpoint{};
  return std::make_unique<SimTransport>(*this, name);
}

Time SimNetwork::next_arrival(const std::string& name) const {
  auto found = endpoints_.find(name);
  if (found == endpoints_.end() || !found->second.alive || found->second.silent) return Time::max();
  const auto& events = found->second.events;
  return events.empty() ? Time::max() : events.begin()->first.first;
}

bool SimNetwork::has_arrived(const std::string& name) const {
  return next_arrival(name) <= clock_.now();
}

std::size_t SimNetwork::bytes_in_flight() const {
  std::size_t bytes = 0;
  for (const auto& [name, endpoint] : endpoints_) {
    for (const auto& [link, end] : endpoint.ends) bytes += end.in_flight;
  }
  return bytes;
}

// ---- the transport's calls

Result<std::string> SimNetwork::listen(const std::string& name, std::string_view address) {
  Endpoint& endpoint = endpoints_.at(name);
  if (Result<HostPort> parts = parse_host_port(address); !parts.ok()) return parts.status();
  if (!endpoint.address.empty()) {
    return Status(Code::kInvalidArgument,
                  fmt::format("this endpoint listens already, at {}", endpoint.address));
  }
  std::string bound(address);
  if (bound.ends_with(":0")) bound = fmt::format("{}:{}", name, next_port_++);
  if (names_.count(bound) != 0) {
    return Status(Code::kNetwork, fmt::format("address {} is in use; choose another", bound));
  }
  names_[bound] = name;
  endpoint.address = bound;
  return bound;
}

Result<LinkId> SimNetwork::connect(const std::string& name, std::string_view address) {
  if (Result<HostPort> parts = parse_host_port(address); !parts.ok()) return parts.status();
  Endpoint& endpoint = endpoints_.at(name);
  const LinkId link = endpoint.next_link++;
  End& end = endpoint.ends[link];
  auto found = names_.find(std::string(address));
  const Time arrival = clock_.now() + latency();
  end.last_arrival = arrival;
  if (found == names_.end() || !endpoints_.at(found->second).alive) {
    end.broken = true;
    Event broken{.kind = Event::Kind::kBroken, .link = link};
    broken.why = {Code::kRefused, fmt::format("nobody listens at {}", address)};
    schedule(endpoint, arrival, std::move(broken));
    return link;
  }
  Endpoint& far = endpoints_.at(found->second);
  end.peer = found->second;
  end.peer_link = far.next_link++;
  End& far_end = far.ends[end.peer_link];
  far_end.peer = name;
  far_end.peer_link = link;
  far_end.last_arrival = arrival;
  schedule(far, arrival, Event{.kind = Event::Kind::kLink, .link = end.peer_link});
  return link;
}

Transport::Sent SimNetwork::try_send(const std::string& name, LinkId link,
                                     const wire::Header& header, const Buffer& payload) {
  Endpoint& endpoint = endpoints_.at(name);
  auto found = endpoint.ends.find(link);
  if (found == endpoint.ends.end() || found->second.broken) return Transport::Sent::kBroken;
  End& end = found->second;
  if (end.in_flight > 0 && end.in_flight + charge_of(payload) > options_.link_capacity_bytes) {
    end.told_full = true;
    return Transport::Sent::kFull;
  }
  if (lossy_.erase({name, end.peer}) != 0) return Transport::Sent::kTaken;
  Hush* hush = hush_of(name, end.peer);
  if (hush != nullptr && (end.stuck || charge_of(payload) >= hush->least_bytes)) {
    end.stuck = true;
    hush->first_lost_at = std::min(hush->first_lost_at, clock_.now());
    end.in_flight += charge_of(payload);
    end.held.emplace_back(header, payload);
    return Transport::Sent::kTaken;
  }
  end.last_sequence = header.sequence;
  const int times = tamper_ ? tamper_(name, end.peer, header) : 1;
  for (int i = 0; i < times; ++i) deliver(endpoints_.at(end.peer), end, header, payload, i > 0);
  return Transport::Sent::kTaken;
}

void SimNetwork::deliver(Endpoint& to, End& from, const wire::Header& header, Buffer payload,
                         bool extra) {
  if (extra) ++from.extra_frames;
  wire::Header stamped = header;
  stamped.sequence += static_cast<std::uint64_t>(from.extra_frames);
  stamped.credit -= std::min(stamped.credit, from.extra_taken);
  stamped.received -= std::min(stamped.received, from.extra_came);
  if (header.kind == wire::Kind::kMore) {
    const auto first = from.begun.find(header.version);  // No entry if that frame was lost.
    if (first != from.begun.end()) stamped.version = first->second;
  } else if (header.total != 0) {
    from.begun[header.sequence] = stamped.sequence;
  }
  const std::size_t charge = charge_of(payload);
  const auto wire_time = std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(static_cast<double>(charge) / options_.bytes_per_second));
  from.last_arrival = std::max(from.last_arrival, clock_.now() + latency()) + wire_time;
  from.in_flight += charge;
  Buffer carried = options_.lend ? std::move(payload) : Buffer::copy_of(payload.bytes());
  Event event{.kind = Event::Kind::kFrame,
              .link = from.peer_link,
              .header = wire::encode(stamped),
              .payload = std::move(carried),
              .charge = charge,
              .extra = extra};
  if (from.flip) flip(event, *std::exchange(from.flip, std::nullopt));
  schedule(to, from.last_arrival, std::move(event));
}

// A payload may be memory of the sender, which must not change.
void SimNetwork::flip(Event& event, std::size_t bit) {
  const auto mask = static_cast<std::byte>(1U << (bit % 8));
  const std::size_t index = bit / 8 % (event.header.size() + event.payload.size());
  if (index < event.header.size()) {
    event.header[index] ^= mask;
    return;
  }
  const std::span<const std::byte> sent = event.payload.bytes();
  std::vector<std::byte> bytes(sent.begin(), sent.end());
  bytes.at(index - event.header.size()) ^= mask;
  event.payload = Buffer::copy_of(bytes);
}

bool SimNetwork::inject(const std::string& from, const std::string& to, wire::Header header,
                        Buffer payload) {
  for (auto& [link, end] : endpoints_.at(from).ends) {
    if (end.peer != to || end.broken) continue;
    header.sequence = end.last_sequence;
    deliver(endpoints_.at(to), end, header, std::move(payload), true);
    return true;
  }
  return false;
}

void SimNetwork::schedule(Endpoint& to, Time when, Event event) {
  to.events.emplace(std::pair(when, next_event_++), std::move(event));
}

void SimNetwork::close(const std::string& name, LinkId link) {
  Endpoint& endpoint = endpoints_.at(name);
  auto found = endpoint.ends.find(link);
  if (found == endpoint.ends.end()) return;
  const End end = found->second;
  endpoint.ends.erase(found);
  std::erase_if(endpoint.events, [link](const auto& item) { return item.second.link == link; });
  if (end.peer.empty()) return;
  give_memory_back(end);
  if (!end.broken && !end.stuck) tell_of_end(name, end);
}

// Copies payloads in flight, so that they no longer refer to the sender's memory.
void SimNetwork::give_memory_back(const End& end) {
  if (end.peer.empty()) return;
  for (auto& [arrival, event] : endpoints_.at(end.peer).events) {
    if (event.link == end.peer_link) event.payload = Buffer::copy_of(event.payload.bytes());
  }
}

// Like a reset, the report is small and overtakes lost frames.
void SimNetwork::tell_of_end(const std::string& name, const End& end) {
  const Hush* hush = hush_of(name, end.peer);
  if (endpoints_.at(name).silent || (hush != nullptr && hush->least_bytes == 0)) return;
  Endpoint& far = endpoints_.at(end.peer);
  auto far_end = far.ends.find(end.peer_link);
  if (far_end == far.ends.end() || far_end->second.broken) return;
  far_end->second.broken = true;
  Event broken{.kind = Event::Kind::kBroken, .link = end.peer_link};
  broken.why = {Code::kLinkBroken, "the far end closed the connection"};
  schedule(far, std::max(end.last_arrival, clock_.now()) + latency(), std::move(broken));
}

void SimNetwork::poll(const std::string& name, Transport::Sink& sink, Duration wait) {
  Endpoint& endpoint = endpoints_.at(name);
  const Time limit = clock_.now() + wait;
  look_at_paths(name, endpoint);
  if (wait > Duration::zero() && !endpoint.woken) {
    const Time next = endpoint.events.empty() ? limit : endpoint.events.begin()->first.first;
    clock_.advance_to(std::min(next, limit));
  }
  endpoint.woken = false;
  const auto most = static_cast<int>(1 + random_.below(kMostFramesAPoll));
  for (int i = 0; i < most && !endpoint.events.empty(); ++i) {
    auto first = endpoint.events.begin();
    if (first->first.first > clock_.now()) return;
    Event event = std::move(first->second);
    endpoint.events.erase(first);
    auto found = endpoint.ends.find(event.link);
    if (found == endpoint.ends.end()) continue;
    switch (event.kind) {
      case Event::Kind::kLink:
        sink.on_link(event.link);
        break;
      case Event::Kind::kBroken:
        give_memory_back(found->second);
        endpoint.ends.erase(found);
        sink.on_broken(event.link, event.why);
        break;
      case Event::Kind::kWritable:
        sink.on_writable(event.link);
        break;
      case Event::Kind::kFrame: {
        ++frames_delivered_;
        found->second.heard_at = clock_.now();
        Endpoint& from = endpoints_.at(found->second.peer);
        auto sender = from.ends.find(found->second.peer_link);
        const bool counts = std::bit_cast<wire::Header>(event.header).kind != wire::Kind::kControl;
        if (event.extra) ++found->second.extra_came;
        if (event.extra && counts) found->second.extra_taken += event.charge;
        if (sender != from.ends.end()) {
          sender->second.in_flight -= event.charge;
          if (std::exchange(sender->second.told_full, false)) {
            schedule(from, clock_.now(),
                     Event{.kind = Event::Kind::kWritable, .link = sender->first});
          }
        }
        trace(std::bit_cast<wire::Header>(event.header).sequence);
        trace(static_cast<std::uint64_t>(clock_.now().time_since_epoch().count()));
        sink.on_frame(event.link, wire::HeaderView(event.header), std::move(event.payload));
        break;
      }
    }
  }
}

// ---- faults

void SimNetwork::leave(const std::string& name) {
  Endpoint& endpoint = endpoints_.at(name);
  while (!endpoint.ends.empty()) close(name, endpoint.ends.begin()->first);
  endpoint.events.clear();
  endpoint.alive = false;
  names_.erase(endpoint.address);
}

void SimNetwork::kill(const std::string& name) { leave(name); }

void SimNetwork::silence(const std::string& name) {
  Endpoint& endpoint = endpoints_.at(name);
  endpoint.silent = true;
  endpoint.silent_since = clock_.now();
  // Its frames in flight are lost with it.
  for (auto& [other, far] : endpoints_) {
    std::erase_if(far.events, [&, &far_end = far](const auto& item) {
      auto end = far_end.ends.find(item.second.link);
      return end != far_end.ends.end() && end->second.peer == name &&
             item.first.first > clock_.now();
    });
  }
}

bool SimNetwork::cut(const std::string& a, const std::string& b) {
  for (const auto& [link, end] : endpoints_.at(a).ends) {
    if (end.peer != b || end.broken) continue;
    const Status why(Code::kLinkBroken, "the connection was reset");
    const LinkId far = end.peer_link;
    break_end(a, link, why);
    break_end(b, far, why);
    return true;
  }
  return false;
}

bool SimNetwork::hush(const std::string& from, const std::string& to, std::size_t least_bytes) {
  const auto& ends = endpoints_.at(from).ends;
  const bool linked = std::any_of(ends.begin(), ends.end(), [&](const auto& item) {
    return item.second.peer == to && !item.second.broken;
  });
  if (!linked) return false;
  Hush& hush = hushed_[{from, to}];
  if (least_bytes >= hush.least_bytes) return true;
  hush.least_bytes = least_bytes;
  hush.since = clock_.now();
  return true;
}

void SimNetwork::unhush(const std::string& from, const std::string& to) {
  if (hushed_.erase({from, to}) == 0) return;
  reset_orphans(from, to);
  reset_orphans(to, from);
  for (auto& [link, end] : endpoints_.at(from).ends) {
    if (end.peer != to || end.broken || !std::exchange(end.stuck, false)) continue;
    for (auto& [header, payload] : std::exchange(end.held, {})) {
      end.in_flight -= charge_of(payload);
      deliver(endpoints_.at(to), end, header, std::move(payload), false);
    }
  }
}

// Like a kernel that receives a packet for a connection which does not exist any more.
void SimNetwork::reset_orphans(const std::string& name, const std::string& far) {
  std::vector<LinkId> orphans;
  for (const auto& [link, end] : endpoints_.at(name).ends) {
    const auto& others = endpoints_.at(far).ends;
    if (end.peer == far && !end.broken && others.count(end.peer_link) == 0) orphans.push_back(link);
  }
  for (const LinkId link : orphans) {
    break_end(name, link, {Code::kLinkBroken, "the connection was reset"});
  }
}

SimNetwork::Hush* SimNetwork::hush_of(const std::string& from, const std::string& to) {
  const auto found = hushed_.find({from, to});
  return found == hushed_.end() ? nullptr : &found->second;
}

const SimNetwork::Hush* SimNetwork::hush_of(const std::string& from, const std::string& to) const {
  const auto found = hushed_.find({from, to});
  return found == hushed_.end() ? nullptr : &found->second;
}

Time SimNetwork::first_lost_at(const std::string& from, const std::string& to) const {
  const Hush* hush = hush_of(from, to);
  return hush == nullptr ? Time::max() : hush->first_lost_at;
}

// The kernel's statistics at `name`. The kernel of a paused peer still acknowledges; that of a
// silent peer does not, since its host has failed.
PathSample SimNetwork::signs_of(const std::string& name, const End& end) const {
  constexpr std::uint32_t kMany = 9;
  PathSample signs{.unacked = end.stuck, .unanswered = end.stuck ? kMany : 0U};
  Time dead_since = Time::max();
  for (const Hush* hush : {hush_of(name, end.peer), hush_of(end.peer, name)}) {
    if (hush != nullptr && hush->least_bytes == 0) dead_since = std::min(dead_since, hush->since);
  }
  const Endpoint& far = endpoints_.at(end.peer);
  if (far.silent) dead_since = std::min(dead_since, far.silent_since);
  if (dead_since == Time::max()) return signs;
  signs.unanswered = kMany;
  signs.silence = clock_.now() - std::max(dead_since, end.heard_at);
  return signs;
}

void SimNetwork::look_at_paths(const std::string& name, Endpoint& endpoint) {
  const Time now = clock_.now();
  if (now < endpoint.next_look) return;
  endpoint.next_look = now + PathLiveness::interval(endpoint.dead_after);
  for (auto& [link, end] : endpoint.ends) {
    if (end.broken || end.peer.empty()) continue;
    const Status dead = end.liveness.look(signs_of(name, end), now, endpoint.dead_after);
    if (dead.ok()) continue;
    tell_of_end(name, end);
    break_end(name, link, dead);
  }
}

void SimNetwork::break_end(const std::string& name, LinkId link, const Status& why) {
  Endpoint& endpoint = endpoints_.at(name);
  auto found = endpoint.ends.find(link);
  if (found == endpoint.ends.end() || std::exchange(found->second.broken, true)) return;
  Event broken{.kind = Event::Kind::kBroken, .link = link};
  broken.why = why;
  std::erase_if(endpoint.events, [link](const auto& item) { return item.second.link == link; });
  schedule(endpoint, clock_.now(), std::move(broken));
}

bool SimNetwork::flip_next(const std::string& from, const std::string& to, std::size_t bit) {
  for (auto& [link, end] : endpoints_.at(from).ends) {
    if (end.peer != to || end.broken) continue;
    end.flip = bit;
    return true;
  }
  return false;
}

void SimNetwork::flip_none(const std::string& name) {
  for (auto& [other, endpoint] : endpoints_) {
    for (auto& [link, end] : endpoint.ends) {
      if (other == name || end.peer == name) end.flip.reset();
    }
  }
}

void SimNetwork::lose_next(const std::string& from, const std::string& to) {
  lossy_.insert({from, to});
}

}  // namespace stretto::sim
