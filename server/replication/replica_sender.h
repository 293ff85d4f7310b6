// SPDX-License-Identifier: Apache-2.0
// ReplicaSender: the primary's side of replication: sends an image of each part once, and then each
// update, which is released once the standby has it. Meanwhile the part continues: workers see
// released values only.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/storage/owned_slots.h"
#include "van/control/control.h"
#include "van/engine/van.h"

namespace stretto {

/// Thread: loop.
class ReplicaSender {
 public:
  /// Called for each part whose update has been released, or whose image has arrived.
  using Released = std::function<void(Part&)>;

  /// Whether a part is recovered; others are sent once they are met. Null: all are.
  using Knows = std::function<bool(const Part&)>;

  /// All arguments must outlive this.
  ReplicaSender(Van& van, OwnedSlots& slots, Released released, Knows knows = nullptr)
      : van_(van), slots_(slots), released_(std::move(released)), knows_(std::move(knows)) {}

  /// Connects to a new standby. Pieces are as large as the job's parts.
  Status call(const Member& standby, const control::Hello& hello, const JobSettings& settings);
  /// The roster has no standby any more: releases all pending updates.
  void part();
  /// The standby; null: none.
  const Member* standby() const { return standby_ ? &*standby_ : nullptr; }
  LinkId link() const { return link_; }
  /// The standby has answered the hello.
  void on_welcome();
  /// The standby's link has ended. Pending updates wait: the scheduler decides whether the standby
  /// or this server has failed.
  void lose() { link_ = 0; }

  /// A worker has opened a tensor here; repeated calls have no effect.
  void opened(const control::Open& open);
  /// Call before a part's first contribution counts: replication starts with its initial state.
  void meet(const OwnedSlots::Place& place);
  /// The part has nothing in transit or pending: it may be changed other than by updates.
  bool is_free(const Part& part) const;
  /// It was changed so: its image is sent again, and it is not free until that has arrived.
  void copy_again(const OwnedSlots::Place& place);
  /// For a settled part whose round ended without an update: no worker is told before the standby
  /// knows, as with an update.
  void hold(const OwnedSlots::Place& place);
  /// Appends a complete update. Released before this returns if the part is not replicated and no
  /// update is pending before it; then `released` is not called.
  void append(const OwnedSlots::Place& place, Update update, std::int32_t priority);
  /// The standby has a frame of this part.
  void on_acked(const wire::Key& key);
  /// Sends further images. Returns the standby's id once it is in sync; also reports that to the
  /// standby.
  std::optional<control::StandbyReady> step();
  /// The scheduler was restarted, and may not know that the standby is in sync.
  void tell_again() { ready_told_ = false; }

 private:
  static constexpr std::size_t kMostCopies = 8;  // Images in transit.

  struct Sending {  // An update.
    control::LogEntry entry;
    Buffer bytes;
    std::int32_t priority = 0;
  };
  struct Copy {  // A part at the standby.
    OwnedSlots::Place place = {};
    bool queued = false;                // Its image waits,
    bool copying = false;               // or is in transit.
    bool again = false;                 // And another one must follow.
    bool followed = false;              // All its state has arrived or been sent.
    ContributorGroup group = {};        // Its contributors, as the standby knows them.
    std::uint32_t frames = 0;           // Not yet acknowledged.
    std::optional<Sending> waits = {};  // Until the image has arrived.
  };
  struct Place {  // An update in its slot's order.
    Part* part;
    bool done;
  };

  control::LogEntry entry_of(const Update& update, Copy& copy) const;
  void queue(Copy& copy);
  void send_image(Copy& copy);
  void send(Copy& copy, const Sending& sending);
  void send_pieces(Copy& copy, std::uint64_t version, const Buffer& bytes, std::int32_t priority);
  void done(const OwnedSlots::Place& place);
  void release_ready(Slot& slot);

  Van& van_;
  OwnedSlots& slots_;
  Released released_;
  Knows knows_;
  std::optional<Member> standby_;
  LinkId link_ = 0;
  std::uint32_t piece_bytes_ = 0;
  bool elastic_ = false;  // Contributors may change.
  bool welcomed_ = false;
  bool ready_told_ = false;
  std::set<std::uint32_t> opened_;  // Tensors that the standby knows.
  std::map<wire::Key, Copy> copies_;
  std::deque<wire::Key> to_copy_;
  std::size_t copying_ = 0;
  std::unordered_map<std::uint32_t, std::deque<Place>> order_;  // By slot: those not released.
};

}  // namespace stretto
