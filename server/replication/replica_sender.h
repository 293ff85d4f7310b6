// SPDX-License-Identifier: Apache-2.0
// ReplicaSender: what a server sends to the one that stands by for it: all that its parts are,
// once, and from then on each update, which is released when it is there. In between a part goes
// on, as nobody is told what is not released.
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
  /// Hears of each part whose update has been released, or that is there as a whole.
  using Released = std::function<void(Part&)>;

  /// What is not known yet is sent once it is met; null: all is.
  using Knows = std::function<bool(const Part&)>;

  /// All outlive this.
  ReplicaSender(Van& van, OwnedSlots& slots, Released released, Knows knows = nullptr)
      : van_(van), slots_(slots), released_(std::move(released)), knows_(std::move(knows)) {}

  /// Who stands by from now on, and in which pieces it takes what is sent.
  Status call(const Member& standby, const control::Hello& hello, const JobSettings& settings);
  /// Nobody stands by any more, as the roster says: what waits for that is released.
  void part();
  /// Who stands by; null: nobody.
  const Member* standby() const { return standby_ ? &*standby_ : nullptr; }
  LinkId link() const { return link_; }
  /// It has answered.
  void on_welcome();
  /// Its link has ended. What waits goes on waiting: whether it or this server is lost is for the
  /// scheduler to say.
  void lose() { link_ = 0; }

  /// A tensor has been opened here, by one worker or another.
  void opened(const control::Open& open);
  /// Before something counts for this part: it has to be known from its begin.
  void meet(const OwnedSlots::Place& place);
  /// Nothing of the part is on its way, nor waits: it may be changed otherwise than by updates.
  bool is_free(const Part& part) const;
  /// It has been changed so: it goes as a whole again, and is not free until it is there.
  void copy_again(const OwnedSlots::Place& place);
  /// Of a part that is settled: a round has ended and made no update. Nobody is told of that before
  /// it is known there, as with an update.
  void hold(const OwnedSlots::Place& place);
  /// An update that is complete. Released before this returns if nothing is sent of this part, and
  /// if no other waits before it; then `released` is not called: who appends knows.
  void append(const OwnedSlots::Place& place, Update update, std::int32_t priority);
  /// The standby has a frame of this part.
  void on_acked(const wire::Key& key);
  /// Sends some more of what has to be sent. The standby's name once it has all, which it is told
  /// too.
  std::optional<control::StandbyReady> step();
  /// The scheduler is another one, which may not have heard of it.
  void tell_again() { ready_told_ = false; }

 private:
  static constexpr std::size_t kMostCopies = 8;  // Parts that are on the way as a whole.

  struct Sending {  // An update.
    control::LogEntry entry;
    Buffer bytes;
    std::int32_t priority = 0;
  };
  struct Copy {  // A part at the standby.
    OwnedSlots::Place place = {};
    bool queued = false;                // To be sent as a whole,
    bool copying = false;               // or on the way so.
    bool again = false;                 // And then once more.
    bool followed = false;              // It is there, or will be by what has been sent.
    ContributorGroup group = {};        // Who makes its rounds, as far as is known there.
    std::uint32_t frames = 0;           // Not yet acknowledged.
    std::optional<Sending> waits = {};  // Until the part is there.
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
  bool elastic_ = false;  // Who makes rounds may change.
  bool welcomed_ = false;
  bool ready_told_ = false;
  std::set<std::uint32_t> opened_;  // Tensors that it has been told of.
  std::map<wire::Key, Copy> copies_;
  std::deque<wire::Key> to_copy_;
  std::size_t copying_ = 0;
  std::unordered_map<std::uint32_t, std::deque<Place>> order_;  // By slot: those not released.
};

}  // namespace stretto
