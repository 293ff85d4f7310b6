// SPDX-License-Identifier: Apache-2.0
// Everything that a control message says is checked here before anybody acts on it.
#include "van/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "common/text.h"

namespace stretto {
namespace {

Status malformed(std::string cause) { return {Code::kMalformed, std::move(cause)}; }

bool sensible(const wire::Settings& s) {
  constexpr std::uint64_t kDay = 86'400'000'000'000;
  const auto is_time = [](std::uint64_t ns) { return ns >= 1'000'000 && ns <= kDay; };
  return s.part_bytes() >= 64 && s.part_bytes() <= wire::kMaxPartBytes &&
         s.part_bytes() % 64 == 0 && s.link_window_bytes() > 0 && s.total_window_bytes() > 0 &&
         is_time(s.heartbeat_ns()) && is_time(s.dead_after_ns()) && is_time(s.stall_warn_ns()) &&
         is_time(s.stall_error_ns());
}

Duration nanoseconds(std::uint64_t count) { return Duration(static_cast<std::int64_t>(count)); }

JobSettings settings_from(const wire::Settings& s) {
  return {.part_bytes = s.part_bytes(),
          .link_window_bytes = s.link_window_bytes(),
          .total_window_bytes = s.total_window_bytes(),
          .heartbeat = nanoseconds(s.heartbeat_ns()),
          .dead_after = nanoseconds(s.dead_after_ns()),
          .stall_warn = nanoseconds(s.stall_warn_ns()),
          .stall_error = nanoseconds(s.stall_error_ns())};
}

Result<Member> member_from(const wire::Member& m) {
  if (m.role() != static_cast<std::uint32_t>(Role::kServer) &&
      m.role() != static_cast<std::uint32_t>(Role::kWorker)) {
    return malformed(fmt::format("a roster names node {} of role {}", m.node(), m.role()));
  }
  return Member{.node = m.node(),
                .role = static_cast<Role>(m.role()),
                .rank = m.rank(),
                .shard = m.shard(),
                .address = m.address(),
                .left = m.left()};
}

}  // namespace

// ---- bytes

Buffer serialize(const wire::Control& message) {
  Buffer buffer = Buffer::allocate(message.ByteSizeLong());
  auto bytes = buffer.writable();
  message.SerializeToArray(bytes.data(), static_cast<int>(bytes.size()));
  return buffer;
}

Status parse(const Buffer& payload, wire::Control& message) {
  if (payload.size() > wire::kMaxControlBytes ||
      !message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) {
    return malformed("a control message cannot be read");
  }
  if (message.body_case() == wire::Control::BODY_NOT_SET) {
    return malformed("a control message says nothing that is known here");
  }
  return {};
}

// ---- errors

wire::Control fault_message(const Status& why, std::string_view name) {
  wire::Control message;
  message.mutable_fault()->set_code(static_cast<std::uint32_t>(why.code()));
  message.mutable_fault()->set_cause(why.cause());
  message.mutable_fault()->set_peer(why.peer());
  message.mutable_fault()->set_name(std::string(name));
  return message;
}

Status status_from(std::uint64_t code, const std::string& cause, const std::string& peer) {
  const bool known = code > 0 && code <= static_cast<std::uint64_t>(Code::kInterrupted);
  constexpr std::size_t kMost = 4096;  // Whoever sent more wants no reader.
  return Status(known ? static_cast<Code>(code) : Code::kCancelled, shortened(cause, kMost))
      .with_peer(shortened(peer, kMost));
}

Status status_of(const wire::Fault& fault) {
  return status_from(fault.code(), fault.cause(), fault.peer());
}

Status status_of(const wire::Failure& failure) {
  return status_from(failure.code(), failure.cause(), failure.peer());
}

Status status_of(const wire::StatePiece& piece) {
  return piece.code() == 0 ? Status() : status_from(piece.code(), piece.cause(), {});
}

// ---- tensors

namespace {

void put(const CodecSpec& codec, wire::CodecSpec& message) {
  message.set_codec(static_cast<std::uint32_t>(codec.codec));
  message.set_k(codec.k);
  message.set_scaling(codec.scaling);
  message.set_error_feedback(codec.error_feedback);
  message.set_momentum(codec.momentum);
  message.set_mu(codec.mu);
  message.set_seed(codec.seed);
  message.set_levels(static_cast<std::uint32_t>(codec.levels));
  message.set_norm(static_cast<std::uint32_t>(codec.norm));
}

CodecSpec codec_from(const wire::CodecSpec& message) {
  const auto byte = [](std::uint32_t number) { return std::min(number, 255U); };
  return {.codec = static_cast<Codec>(byte(message.codec())),
          .k = message.k(),
          .scaling = message.scaling(),
          .error_feedback = message.error_feedback(),
          .momentum = message.momentum(),
          .mu = message.mu(),
          .seed = message.seed(),
          .levels = static_cast<DitherLevels>(byte(message.levels())),
          .norm = static_cast<DitherNorm>(byte(message.norm()))};
}

}  // namespace

wire::TensorSpec to_wire(const TensorSpec& spec) {
  wire::TensorSpec message;
  message.set_name(spec.name);
  message.set_dtype(static_cast<std::uint32_t>(spec.dtype));
  message.set_elements(spec.elements);
  message.set_mode(static_cast<std::uint32_t>(spec.options.mode));
  message.set_bound(spec.options.bound);
  const RuleOptions& update = spec.options.update;
  message.set_rule(static_cast<std::uint32_t>(update.rule));
  message.set_rate(update.rate);
  message.set_momentum(update.momentum);
  message.set_nesterov(update.nesterov);
  message.set_beta1(update.beta1);
  message.set_beta2(update.beta2);
  message.set_epsilon(update.epsilon);
  message.set_weight_decay(update.weight_decay);
  message.set_deterministic(spec.options.deterministic);
  message.set_bulk(spec.options.bulk);
  message.set_shape(spec.options.shape);
  if (spec.options.codec) put(*spec.options.codec, *message.mutable_codec());
  return message;
}

Result<TensorSpec> from_wire(const wire::TensorSpec& message) {
  if (message.dtype() > 255 || message.mode() > 255 || message.rule() > 255) {
    return malformed("a tensor's dtype, mode or rule is out of range");
  }
  TensorSpec spec;
  spec.name = message.name();
  spec.dtype = static_cast<Dtype>(message.dtype());
  spec.elements = message.elements();
  spec.options.mode = static_cast<Mode>(message.mode());
  spec.options.bound = message.bound();
  spec.options.update = {.rule = static_cast<Rule>(message.rule()),
                         .rate = message.rate(),
                         .momentum = message.momentum(),
                         .nesterov = message.nesterov(),
                         .beta1 = message.beta1(),
                         .beta2 = message.beta2(),
                         .epsilon = message.epsilon(),
                         .weight_decay = message.weight_decay()};
  spec.options.deterministic = message.deterministic();
  spec.options.bulk = message.bulk();
  spec.options.shape = message.shape();
  if (message.has_codec()) spec.options.codec = codec_from(message.codec());
  if (Status status = check(spec); !status.ok()) return status;
  return canonical(std::move(spec));
}

// ---- roster

wire::Control to_wire(const Roster& roster) {
  wire::Control message;
  wire::Roster& out = *message.mutable_roster();
  out.set_epoch(roster.epoch);
  out.set_fence(roster.fence);
  out.set_workers(roster.workers);
  out.set_servers(roster.servers);
  out.set_slots(roster.slots);
  out.set_since(roster.since);
  for (const Member& member : roster.members) {
    wire::Member& m = *out.add_members();
    m.set_node(member.node);
    m.set_role(static_cast<std::uint32_t>(member.role));
    m.set_rank(member.rank);
    m.set_shard(member.shard);
    m.set_address(member.address);
    m.set_left(member.left);
  }
  wire::Settings& settings = *out.mutable_settings();
  settings.set_part_bytes(roster.settings.part_bytes);
  settings.set_link_window_bytes(roster.settings.link_window_bytes);
  settings.set_total_window_bytes(roster.settings.total_window_bytes);
  settings.set_heartbeat_ns(count_of(roster.settings.heartbeat));
  settings.set_dead_after_ns(count_of(roster.settings.dead_after));
  settings.set_stall_warn_ns(count_of(roster.settings.stall_warn));
  settings.set_stall_error_ns(count_of(roster.settings.stall_error));
  return message;
}

Result<Roster> from_wire(const wire::Roster& message) {
  Roster roster{.epoch = message.epoch(),
                .fence = message.fence(),
                .workers = message.workers(),
                .servers = message.servers(),
                .slots = message.slots(),
                .since = message.since(),
                .members = {},
                .settings = settings_from(message.settings())};
  if (message.members_size() > static_cast<int>(kMaxNodes) || roster.workers > kMaxNodes ||
      roster.slots == 0 || roster.slots > (1U << 20) ||
      (roster.since != 0 && roster.since >= roster.epoch)) {
    return malformed(fmt::format(
        "a roster of {} members, {} workers and {} slots, of epoch {} "
        "since epoch {}",
        message.members_size(), roster.workers, roster.slots, roster.epoch, roster.since));
  }
  if (!sensible(message.settings())) return malformed("a roster's settings make no sense");
  std::set<NodeId> nodes;
  std::set<std::tuple<Role, Rank, std::uint32_t>> places;
  for (const wire::Member& m : message.members()) {
    Result<Member> member = member_from(m);
    if (!member.ok()) return member.status();
    const bool worker = member->role == Role::kWorker;
    const std::uint32_t world = worker ? roster.workers : roster.servers;
    const std::uint32_t shard = worker ? 0 : member->shard;
    if (!nodes.insert(member->node).second || member->node <= 1 || member->rank >= world ||
        !places.insert({member->role, member->rank, shard}).second) {
      return malformed(fmt::format("a roster names {} (node {}) twice or out of range",
                                   member->describe(), member->node));
    }
    roster.members.push_back(std::move(*member));
  }
  return roster;
}

}  // namespace stretto
