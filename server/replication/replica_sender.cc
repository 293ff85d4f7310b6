// SPDX-License-Identifier: Apache-2.0
// Images, updates, and the order of their release.
#include "server/replication/replica_sender.h"

#include <algorithm>

#include "common/check.h"
#include "server/aggregation/rounds_snapshot.h"
#include "van/wire/frame_views.h"

namespace stretto {
namespace {

// A part without history needs no image.
bool is_new(const Part& part) {
  return part.store.value().version == 0 && RoundsSnapshot::of(part.collector.rounds()).is_new();
}

std::vector<control::PartImage::Standing> standings_of(const RoundsSnapshot& rounds) {
  std::vector<control::PartImage::Standing> standings;
  for (const RoundsSnapshot::Worker& worker : rounds.workers) {
    standings.push_back({.node = worker.node,
                         .rounds = worker.rounds,
                         .before = worker.before,
                         .number = worker.number});
  }
  return standings;
}

control::PartImage image_of(const Part& part, std::uint64_t total) {
  const RoundsSnapshot rounds = RoundsSnapshot::of(part.collector.rounds());
  return {.tensor = part.key.tensor,
          .part = part.key.part,
          .version = rounds.version,
          .finished = rounds.finished,
          .empty = rounds.empty,
          .workers = standings_of(rounds),
          .total = total,
          .made_nothing = rounds.made_nothing};
}

}  // namespace

control::LogEntry ReplicaSender::entry_of(const Update& update, Copy& copy) const {
  const Part& part = *copy.place.part;
  const bool alone = !are_collected(part.spec.options.mode, update.assign);
  control::LogEntry entry{.tensor = update.key.tensor,
                          .part = update.key.part,
                          .version = update.version,
                          .worker = alone ? update.from.nodes().front() : 0,
                          .listeners = update.listeners,
                          .assign = update.assign,
                          .total = update.bytes.size()};
  const ContributorGroup& group = part.collector.rounds().group();
  if (!elastic_ || std::exchange(copy.group, group) == group) return entry;
  const RoundsSnapshot rounds = RoundsSnapshot::of(part.collector.rounds());
  entry.regrouped = control::LogEntry::Regrouped{.makers = update.from.nodes(),
                                                 .workers = standings_of(rounds),
                                                 .finished = rounds.finished,
                                                 .empty = rounds.empty};
  return entry;
}

Status ReplicaSender::call(const Member& standby, const control::Hello& hello,
                           const JobSettings& settings) {
  standby_ = standby;
  piece_bytes_ = settings.part_bytes;
  elastic_ = settings.elastic();
  Result<LinkId> link = van_.links().connect(standby.address, hello);
  if (!link.ok()) return std::move(link.status()).with_peer(standby.describe());
  link_ = *link;
  return {};
}

void ReplicaSender::part() {
  if (link_ != 0) van_.links().close(link_);
  standby_.reset();
  link_ = 0;
  welcomed_ = ready_told_ = false;
  opened_.clear();
  std::vector<Part*> copied;
  for (const auto& [key, copy] : copies_) {
    if (!copy.copying) continue;
    copy.place.part->held = false;
    copied.push_back(copy.place.part);
  }
  copies_.clear();
  to_copy_.clear();
  copying_ = 0;
  // Release all before the callbacks, which may append an update of a later part of a slot.
  std::vector<Part*> released;
  slots_.for_each_slot([&](Slot& slot) {
    slot.release(slot.appended());
    const auto places = order_.find(slot.number());
    if (places == order_.end()) return;
    for (const Place& place : places->second) released.push_back(place.part);
  });
  order_.clear();
  for (Part* part : released) released_(*part);
  for (Part* part : copied) released_(*part);
}

void ReplicaSender::on_welcome() {
  van_.links().admit(link_, standby_->node);
  welcomed_ = true;
  slots_.for_each_tensor([this](const control::Open& open) { opened(open); });
  slots_.for_each_place([this](const OwnedSlots::Place& place) {
    if (knows_ != nullptr && !knows_(*place.part)) return;
    Copy& copy = copies_[place.part->key];
    copy.place = place;
    queue(copy);
  });
}

void ReplicaSender::opened(const control::Open& open) {
  const bool news = welcomed_ && link_ != 0 && opened_.insert(open.tensor).second;
  if (news) van_.send_control(link_, open);
}

// A part with history is sent at once: the standby may already be reported as in sync.
void ReplicaSender::meet(const OwnedSlots::Place& place) {
  if (!welcomed_) return;
  const auto [found, first] = copies_.try_emplace(place.part->key);
  if (!first) return;
  Copy& copy = found->second;
  copy.place = place;
  if (is_new(*place.part)) {
    copy.followed = true;
  } else {
    send_image(copy);
  }
}

bool ReplicaSender::is_free(const Part& part) const {
  const auto found = copies_.find(part.key);
  const bool on_its_way =
      found != copies_.end() && (found->second.frames > 0 || found->second.copying);
  return part.settled() && !on_its_way;
}

void ReplicaSender::copy_again(const OwnedSlots::Place& place) {
  if (!welcomed_) return;
  Copy& copy = copies_[place.part->key];
  copy.place = place;
  send_image(copy);
}

void ReplicaSender::hold(const OwnedSlots::Place& place) {
  const auto found = copies_.find(place.part->key);
  if (found == copies_.end() || !(found->second.followed || found->second.copying)) return;
  place.part->held = true;
  found->second.again = found->second.copying;
  if (!found->second.copying) send_image(found->second);
}

void ReplicaSender::queue(Copy& copy) {
  copy.queued = true;
  to_copy_.push_back(copy.place.part->key);
}

void ReplicaSender::append(const OwnedSlots::Place& place, Update update, std::int32_t priority) {
  Part& part = *place.part;
  const auto known = copies_.find(part.key);
  const bool sent = known != copies_.end() && (known->second.followed || known->second.copying);
  Sending sending;
  if (sent) {
    // Lent memory belongs to a worker, and would be in use until the standby has it.
    update.bytes = to_own(update.bytes);
    sending = {
        .entry = entry_of(update, known->second), .bytes = update.bytes, .priority = priority};
  }
  const Slot::Position position = place.slot->append(part, std::move(update));
  std::deque<Place>& order = order_[place.slot->number()];
  if (!sent && order.empty()) return place.slot->release(position);
  order.push_back({&part, !sent});
  if (!sent) return;
  Copy& copy = known->second;
  if (copy.copying) {
    copy.waits = std::move(sending);
  } else {
    send(copy, sending);
  }
}

void ReplicaSender::send(Copy& copy, const Sending& sending) {
  if (link_ == 0) return;  // The scheduler's decision releases the update, or ends this server.
  van_.send_control(link_, sending.entry);
  send_pieces(copy, sending.entry.version, sending.bytes, sending.priority);
}

void ReplicaSender::send_pieces(Copy& copy, std::uint64_t version, const Buffer& bytes,
                                std::int32_t priority) {
  const Part& part = *copy.place.part;
  std::size_t offset = 0;
  do {
    const std::size_t size = std::min<std::size_t>(piece_bytes_, bytes.size() - offset);
    const wire::PushFrame push{.key = part.key,
                               .round = version,
                               .computed_from = offset,
                               .absent = bytes.empty(),
                               .dtype = Dtype::kU8,
                               .priority = priority};
    ++copy.frames;
    van_.send(link_, push.header(), bytes.empty() ? Buffer() : bytes.slice(offset, size),
              {.tag = 0, .deadline = Time::max(), .bulk = part.spec.options.bulk});
    offset += size;
  } while (offset < bytes.size());
}

void ReplicaSender::send_image(Copy& copy) {
  Part& part = *copy.place.part;
  copy.queued = false;
  copy.copying = true;
  copy.group = part.collector.rounds().group();
  ++copying_;
  if (link_ == 0) return;  // As in send().
  Buffer saved = van_.allocate(part.store.saved_bytes());
  part.store.save(0, saved.writable());
  van_.send_control(link_, image_of(part, saved.size()));
  send_pieces(copy, part.store.value().version, saved, 0);
}

void ReplicaSender::on_acked(const wire::Key& key) {
  const auto found = copies_.find(key);
  if (found == copies_.end() || found->second.frames == 0) return;
  Copy& copy = found->second;
  if (--copy.frames > 0) return;
  if (!copy.copying) return done(copy.place);
  copy.copying = false;
  copy.followed = true;
  --copying_;
  if (std::exchange(copy.again, false)) return send_image(copy);
  copy.place.part->held = false;
  if (copy.waits) return send(copy, *std::exchange(copy.waits, std::nullopt));
  released_(*copy.place.part);
}

void ReplicaSender::done(const OwnedSlots::Place& place) {
  for (Place& each : order_[place.slot->number()]) {
    if (each.part != place.part) continue;
    each.done = true;  // A part has one at a time.
    break;
  }
  release_ready(*place.slot);
}

void ReplicaSender::release_ready(Slot& slot) {
  std::deque<Place>& places = order_[slot.number()];
  while (!places.empty() && places.front().done) {
    Part& part = *places.front().part;
    places.pop_front();
    slot.release(slot.released() + 1);
    released_(part);
  }
}

std::optional<control::StandbyReady> ReplicaSender::step() {
  if (!welcomed_ || link_ == 0) return std::nullopt;
  for (std::size_t looks = to_copy_.size(); looks > 0 && copying_ < kMostCopies; --looks) {
    const wire::Key key = to_copy_.front();
    to_copy_.pop_front();
    Copy& copy = copies_.at(key);
    if (!copy.queued) continue;
    if (copy.place.part->settled() && copy.frames == 0) {
      send_image(copy);
    } else {
      to_copy_.push_back(key);
    }
  }
  const bool all_there = to_copy_.empty() && copying_ == 0;
  if (!all_there || std::exchange(ready_told_, true)) return std::nullopt;
  const control::StandbyReady ready{.node = standby_->node};
  van_.send_control(link_, ready);
  return ready;
}

}  // namespace stretto
