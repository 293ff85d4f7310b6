// SPDX-License-Identifier: Apache-2.0
// Turns a specification into a tensor with owners.
#include "worker/exchange/declarations.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "ops/update.h"

namespace stretto {
namespace {

// The owner of each part, from the runs of slots; empty if a slot has none.
std::vector<NodeId> owners_of(const control::Declared& declared, std::uint32_t parts,
                              std::uint32_t slots) {
  if (slots == 0) return {};
  std::map<std::uint32_t, NodeId> by_slot;
  std::uint32_t named = 0;
  for (const SlotRun& run : declared.owners) {
    if (run.first >= slots || run.count > slots - run.first) return {};
    if (run.count > slots - named) return {};  // Some slots are named twice.
    named += run.count;
    for (std::uint32_t i = 0; i < run.count; ++i) by_slot[run.first + i] = run.owner;
  }
  std::vector<NodeId> owners(parts);
  for (std::uint32_t part = 0; part < parts; ++part) {
    auto found = by_slot.find((declared.first_slot % slots + part) % slots);
    if (found == by_slot.end()) return {};
    owners[part] = found->second;
  }
  return owners;
}

// Applies the rules if the program names no codec. A specification without codec has one form.
void choose_codec(const CodecPolicy& policy, TensorSpec& spec) {
  std::optional<CodecSpec>& codec = spec.options.codec;
  const TensorOptions& options = spec.options;
  if (!codec && !is_eager(options.mode) && !is_extreme_or_product(options.update.rule)) {
    codec = policy.choose(spec.name, spec.dtype, spec.bytes());
  }
  if (codec == CodecSpec()) codec.reset();
}

Status check_rule(const TensorSpec& spec) {
  if (is_of_its_round(spec.options)) return {};
  return ops::make_update_rule(spec.options.update, spec.dtype, 0).status();
}

}  // namespace

void Declarations::declare(TensorSpec spec, Declared done, std::vector<Rank> group) {
  choose_codec(config_.codecs, spec);
  spec = ways_.settle(std::move(spec), group);
  if (Status status = check(spec); !status.ok()) return done(status);
  spec = canonical(std::move(spec));
  // A server would report this, too, but only at the first push.
  if (Status why = check_rule(spec); !why.ok()) {
    return done(Status(why.code(), fmt::format("tensor '{}': {}", spec.name, why.cause())));
  }
  if (Status status = ways_.fits(spec); !status.ok()) return done(status);
  if (const TensorState* known = tensors_.find(spec.name);
      known != nullptr && known->spec == spec) {
    return done(Tensor{.id = known->id,
                       .dtype = spec.dtype,
                       .elements = spec.elements,
                       .restored = known->restored});
  }
  auto [pending, is_new] = pending_.try_emplace(spec.name);
  if (!is_new && !(pending->second.spec == spec)) {
    return done(
        Status(Code::kMismatch, fmt::format("tensor '{}': declared here as {} and as {}", spec.name,
                                            pending->second.spec.describe(), spec.describe())));
  }
  pending->second.done.push_back(std::move(done));
  if (!is_new) return;
  pending->second.spec = spec;
  pending->second.group = std::move(group);
  pending->second.deadline = after(clock_.now(), config_.operation_timeout);
  ways_.tell_scheduler({.spec = spec});
}

void Declarations::on_declared(const control::Declared& declared, const Roster& roster, Rank rank) {
  const auto answered = pending_.extract(declared.name);
  if (answered.empty()) return;
  const Pending& pending = answered.mapped();
  const Result<Tensor> result = add(pending, declared, roster, rank);
  for (const Declared& done : pending.done) done(result);
}

Result<Tensor> Declarations::add(const Pending& pending, const control::Declared& declared,
                                 const Roster& roster, Rank rank) {
  const TensorSpec& spec = pending.spec;
  if (tensors_.find(declared.tensor) != nullptr) {
    return Status(Code::kMalformed, fmt::format("the scheduler gave tensor '{}' the identity {}, "
                                                "which is another's",
                                                spec.name, declared.tensor));
  }
  ways_.named(declared.tensor, spec.name);
  if (spec.options.exchange != Exchange::kServers) {
    return add_among_workers(pending, declared.tensor, roster);
  }
  const Cut cut(spec, roster.settings.part_bytes);
  const std::vector<NodeId> owners = owners_of(declared, cut.parts(), roster.slots);
  std::vector<LinkId> links;
  for (NodeId owner : owners) links.push_back(shards_.link_to(owner));
  if (links.size() != cut.parts() || std::ranges::count(links, LinkId{0}) != 0) {
    return Status(Code::kMalformed, "the scheduler named no owner for some part");
  }
  tensors_.add(declared.tensor, spec, cut, links, rank);
  TensorState& tensor = *tensors_.find(declared.tensor);
  tensor.restored = declared.restored;
  tensor.first_slot = declared.first_slot;
  const control::Open open = open_of(tensor);
  for (LinkId link : std::set<LinkId>(links.begin(), links.end())) ways_.tell_shard(link, open);
  return Tensor{.id = declared.tensor,
                .dtype = spec.dtype,
                .elements = spec.elements,
                .restored = declared.restored};
}

// The parts of such a tensor have no owners, and so no links.
Result<Tensor> Declarations::add_among_workers(const Pending& pending, std::uint32_t id,
                                               const Roster& roster) {
  const TensorSpec& spec = pending.spec;
  const Cut cut(spec, roster.settings.part_bytes);
  tensors_.add(id, spec, cut, std::vector<LinkId>(cut.parts()));
  TensorState& tensor = *tensors_.find(id);
  tensor.is_group = !pending.group.empty();
  if (Status status = ways_.join_workers(tensor, roster, pending.group); !status.ok()) {
    tensor.fail(status);
    return status;
  }
  return Tensor{id, spec.dtype, spec.elements};
}

void Declarations::on_refused(const std::string& name, const Status& why) {
  const auto refused = pending_.extract(name);
  if (refused.empty()) return;
  for (const Declared& done : refused.mapped().done) done(Status(why).with_operation("declare"));
}

void Declarations::tell_again() const {
  for (const auto& [name, pending] : pending_) ways_.tell_scheduler({.spec = pending.spec});
}

void Declarations::tick() {
  const Time now = clock_.now();
  for (auto it = pending_.begin(); it != pending_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    const Pending late = std::move(it->second);
    it = pending_.erase(it);
    for (const Declared& done : late.done) {
      done(Status(Code::kTimeout,
                  fmt::format("the scheduler did not answer for tensor '{}'", late.spec.name))
               .with_operation("declare"));
    }
  }
}

Time Declarations::next_due() const {
  Time due = Time::max();
  for (const auto& [name, pending] : pending_) due = std::min(due, pending.deadline);
  return due;
}

void Declarations::end_all(const Status& why) {
  for (auto& [name, pending] : std::exchange(pending_, {})) {
    for (const Declared& done : pending.done) done(Status(why).with_operation("declare"));
  }
}

}  // namespace stretto
