// SPDX-License-Identifier: Apache-2.0
// Images and updates are applied only once complete.
#include "server/replication/replica_receiver.h"

#include <fmt/core.h>

#include <set>
#include <utility>

#include "common/memory/copy_bytes.h"
#include "van/wire/frame_views.h"

namespace stretto {
namespace {

Status malformed(std::string cause) { return {Code::kMalformed, std::move(cause)}; }

Status other_version(const Part& part, std::uint64_t version) {
  return malformed(fmt::format("tensor '{}', part {}: version {} came for a replica of version {}",
                               part.spec.name, part.key.part, version, part.store.value().version));
}

// Upper limit of the saved size of this part's store.
std::uint64_t most_of_image(Part& part) {
  return Store::kHeadBytes + 2 * part.store.bytes() + 4 * part.store.value_bytes();
}

std::uint64_t bytes_of_update(const Part& part, bool assign) {
  if (assign) return part.store.value_bytes();
  return part.store.value_bytes() / bytes_of(part.spec.dtype) *
         bytes_of(PartLayout::dtype_of_sums(part.spec));
}

Status check_total(Part& part, const control::PartImage& image) {
  const std::uint64_t most = most_of_image(part);
  if (image.total >= Store::kHeadBytes && image.total <= most) return {};
  return malformed(fmt::format("tensor '{}', part {}: an image of {} bytes is to come, at most {}",
                               part.spec.name, part.key.part, image.total, most));
}

Status check_total(Part& part, const control::LogEntry& entry) {
  const std::uint64_t wanted = bytes_of_update(part, entry.assign);
  if (entry.total == wanted) return {};
  return malformed(fmt::format("tensor '{}', part {}: an update of {} bytes is to come, wanted {}",
                               part.spec.name, part.key.part, entry.total, wanted));
}

RoundsSnapshot rounds_of(const std::vector<control::PartImage::Standing>& workers) {
  RoundsSnapshot rounds;
  for (const control::PartImage::Standing& each : workers) {
    rounds.workers.push_back(
        {.node = each.node, .rounds = each.rounds, .before = each.before, .number = each.number});
  }
  return rounds;
}

Status contradicts(const Part& part, std::string_view what) {
  return malformed(
      fmt::format("tensor '{}', part {}: {} that contradicts itself, or this "
                  "job's workers",
                  part.spec.name, part.key.part, what));
}

}  // namespace

void ReplicaReceiver::lose() {
  link_ = 0;
  coming_.clear();
}

std::set<wire::Key> ReplicaReceiver::end() {
  if (link_ != 0) van_.links().close(std::exchange(link_, 0));
  std::set<wire::Key> lacking;
  for (const auto& [key, coming] : std::exchange(coming_, {})) {
    if (std::holds_alternative<control::PartImage>(coming.what)) lacking.insert(key);
  }
  return lacking;
}

Status ReplicaReceiver::on_control(const control::Message& message) {
  if (const auto* open = std::get_if<control::Open>(&message)) {
    return slots_.open(open->tensor, open->spec, open->first_slot);
  }
  if (const auto* image = std::get_if<control::PartImage>(&message)) {
    return expect({image->tensor, image->part}, *image);
  }
  if (const auto* entry = std::get_if<control::LogEntry>(&message)) {
    return expect({entry->tensor, entry->part}, *entry);
  }
  if (control::is<control::StandbyReady>(message)) {
    slots_.set_whole();
    return {};
  }
  return malformed("a server tells who stands by for it of tensors, parts and updates");
}

template <typename What>
Status ReplicaReceiver::expect(const wire::Key& key, const What& what) {
  const Result<OwnedSlots::Place> place = slots_.place_of(key, workers_.left());
  if (!place.ok()) return place.status();
  if (Status status = check_total(*place->part, what); !status.ok()) return status;
  const auto [coming, first] =
      coming_.try_emplace(key, Coming{.place = *place, .what = what, .total = what.total});
  return first ? Status() : malformed("two updates of one part at a time");
}

Status ReplicaReceiver::on_data(const wire::Header& header, const Buffer& payload) {
  const auto found = coming_.find(header.key);
  if (header.kind != wire::Kind::kPush || found == coming_.end()) {
    return malformed("a frame that nothing has told of");
  }
  Coming& coming = found->second;
  const std::uint64_t offset = wire::PushFrame::of(header).computed_from;
  if (offset != coming.had || payload.size() > coming.total - coming.had) {
    return malformed(fmt::format("{} bytes from {} on, and {} of {} are there", payload.size(),
                                 offset, coming.had, coming.total));
  }
  if (payload.size() == coming.total) {
    coming.bytes = to_own(payload);
  } else {
    if (coming.bytes.empty()) coming.bytes = Buffer::allocate(coming.total);
    copy_bytes(payload.bytes(), coming.bytes.writable().subspan(coming.had));
  }
  coming.had += payload.size();
  if (coming.had == coming.total) {
    Coming whole = std::move(coming);
    coming_.erase(found);
    if (Status status = apply(std::move(whole)); !status.ok()) return status;
  }
  van_.ack(link_, header.push_sequence, true);
  return {};
}

// Counts the contributions that the primary counted: of all workers, or of one.
Result<Sources> ReplicaReceiver::recount(Part& part, const control::LogEntry& entry) const {
  Consistency& rounds = part.collector.rounds();
  std::vector<NodeId> nodes;
  if (entry.worker != 0) {
    nodes.push_back(entry.worker);
  } else {
    for (const Contributor& one : rounds.group()->all()) nodes.push_back(one.node);
  }
  const bool collected = are_collected(part.spec.options.mode, entry.assign);
  if (collected != (entry.worker == 0) || rounds.open()) {
    return malformed("an update of another kind than its tensor's");
  }
  if (entry.regrouped) {
    RoundsSnapshot image = rounds_of(entry.regrouped->workers);
    image.version = entry.version;
    image.finished = entry.regrouped->finished;
    image.empty = entry.regrouped->empty;
    image.made_nothing = entry.worker != 0 && RoundsSnapshot::of(rounds).made_nothing;
    const bool whole = entry.worker == 0 || entry.regrouped->makers.size() == 1;
    if (!whole || !take(part, image)) return contradicts(part, "an update");
    std::vector<Contributor> makers;
    for (const NodeId node :
         std::set(entry.regrouped->makers.begin(), entry.regrouped->makers.end())) {
      makers.push_back({node, static_cast<Rank>(makers.size())});
    }
    return entry.worker != 0 ? Sources(entry.worker) : Sources(make_group(std::move(makers)));
  }
  std::optional<Sources> made;
  for (const NodeId node : nodes) {
    const std::uint64_t round = rounds.rounds_of(node) + 1;
    if (Status status = rounds.admit(node, round, entry.assign); !status.ok()) return status;
    made = rounds.contribute(node, entry.assign);
    part.counted.note(node, round);
  }
  if (!made) return malformed("a round that is not complete");
  return *std::move(made);
}

// Sets all workers' progress on a part; in an elastic job also its contributors.
bool ReplicaReceiver::take(Part& part, const RoundsSnapshot& rounds) const {
  if (elastic_) {
    const ContributorGroup group = rounds.group();
    if (group == nullptr) return false;
    const bool others = group->all() != part.collector.rounds().group()->all();
    // No round is open, so this completes none.
    if (others && !part.collector.regroup(group, 0).ok()) return false;
  }
  if (!rounds.give(part.collector.rounds())) return false;
  for (const RoundsSnapshot::Worker& each : rounds.workers)
    part.counted.note(each.node, each.rounds);
  return true;
}

Status ReplicaReceiver::apply(Coming coming) const {
  if (const auto* image = std::get_if<control::PartImage>(&coming.what)) {
    return apply(coming.place, *image, coming.bytes);
  }
  return apply(coming.place, std::get<control::LogEntry>(coming.what), std::move(coming.bytes));
}

Status ReplicaReceiver::apply(const OwnedSlots::Place& place, const control::PartImage& image,
                              const Buffer& bytes) const {
  Part& part = *place.part;
  RoundsSnapshot rounds = rounds_of(image.workers);
  rounds.version = image.version;
  rounds.finished = image.finished;
  rounds.empty = image.empty;
  rounds.made_nothing = image.made_nothing;
  if (Store::version_of(bytes.bytes()) != image.version || !take(part, rounds)) {
    return contradicts(part, "an image");
  }
  Status loaded = part.store.load(0, bytes.bytes());
  if (!loaded.ok() || part.store.saved_bytes() == bytes.size()) return loaded;
  return malformed("an image that lacks something");
}

Status ReplicaReceiver::apply(const OwnedSlots::Place& place, const control::LogEntry& entry,
                              Buffer bytes) const {
  Part& part = *place.part;
  if (entry.version != part.store.value().version + 1) return other_version(part, entry.version);
  Result<Sources> from = recount(part, entry);
  if (!from.ok()) return from.status();
  if (entry.listeners > from->size() || entry.version != part.collector.rounds().version()) {
    return other_version(part, entry.version);
  }
  place.slot->release(place.slot->append(part, {.key = part.key,
                                                .version = entry.version,
                                                .from = *std::move(from),
                                                .listeners = entry.listeners,
                                                .assign = entry.assign,
                                                .bytes = std::move(bytes)}));
  return {};
}

}  // namespace stretto
