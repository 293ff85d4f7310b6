// SPDX-License-Identifier: Apache-2.0
// Operation: one push, pull, push_pull, listen, broadcast or probe of one tensor, from the user's
// call to its end.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "common/memory/buffer.h"
#include "ops/finite.h"
#include "stretto/worker.h"
#include "van/wire/frame_views.h"
#include "worker/operations/ticket.h"

namespace stretto {

class Waker;
struct GroupCallArgs;
struct Operation;
using OperationPtr = std::shared_ptr<Operation>;
using OperationList = std::list<OperationPtr>;

/// Thread: loop, but for `leases`. Kept alive by the exchange and by every frame that carries its
/// memory.
struct Operation {
  enum class Kind : std::uint8_t {
    kPush,
    kPull,
    kPushPull,
    kBroadcastRoot,
    kBroadcastReceiver,
    kListen,
    kProbe,
    kCall  ///< A group's call, described by `call`.
  };

  Kind kind = Kind::kPush;
  Tensor tensor;
  std::span<const std::byte> source;  ///< Empty for pulls and empty contributions.
  std::span<std::byte> target;        ///< Empty for pushes, and for kListen without a value.
  std::shared_ptr<const GroupCallArgs> call = nullptr;
  std::uint32_t root = 0;       ///< Of a broadcast: its number.
  std::uint32_t root_view = 0;  ///< The epoch of its rank, if ranks change.
  std::int32_t priority = 0;
  Time deadline_wanted = Time::max();  ///< Among equal priorities earlier goes first.
  std::shared_ptr<detail::TicketState> ticket;

  struct NotFinite {
    ops::NotFinite found;
    Rank worker = 0;  ///< This worker's.
  };
  std::optional<NotFinite> not_finite = {};  ///< Of a source whose tensor checks.

  // Owned by the exchange:
  Status rejected;  // The ticket's status although all went well.
  std::uint64_t id = 0;
  OperationList::iterator place;  // Among those in flight, if it is.
  bool in_flight = false;
  bool ended = false;  // Its ticket was notified.
  std::uint32_t parts_left = 0;
  std::uint32_t parts_begun = 0;          // Whose frames were queued.
  std::deque<wire::PushFrame> to_encode;  // Contributions that wait for room to be encoded into.
  std::size_t encoded_bytes = 0;          // Room that is taken for those in flight.
  bool paused = false;
  bool cancelled = false;     // Has ended; later frames for it are dropped.
  bool made_nothing = false;  // A part of the broadcast has no value: its root was lost.
  bool any_info = false;
  ValueInfo info;
  std::vector<PartInfo> parts;  // Those received; kept in the eager modes only.
  Time deadline;
  /// Frames that may still be read from `source`. The user gets the memory back only when they are
  /// gone, even after an error.
  std::atomic<std::uint32_t> leases{0};
  /// The operation has ended except for leases: the last one must wake the loop.
  std::atomic<bool> awaits_leases{false};

  /// A broadcast that may fail must leave the target unchanged: parts arrive in separate memory,
  /// and are copied from there at the end.
  void come_together() {
    place_of_all.resize(target.size());
    wanted_at = std::exchange(target, place_of_all);
  }
  std::vector<std::byte> place_of_all;
  std::span<std::byte> wanted_at;

  /// Adds the info of one more part.
  void note(const ValueInfo& more) {
    info = any_info ? detail::combine(info, more) : more;
    any_info = true;
  }

  bool pushes() const { return kind != Kind::kPull && kind != Kind::kProbe; }
  bool wants_value() const {
    if (listens()) return !target.empty();
    return kind != Kind::kPush && kind != Kind::kProbe;
  }
  bool listens() const { return kind == Kind::kListen; }
  bool broadcasts() const {
    return kind == Kind::kBroadcastRoot || kind == Kind::kBroadcastReceiver;
  }
};

std::string_view name_of(Operation::Kind kind);
/// For a group's call, the name that its caller knows.
std::string_view name_of(const Operation& operation);

/// A lease on some of the operation's memory, without a copy, for a frame or a codec. It keeps the
/// operation alive. The last one may end on the transport's thread, after the operation: it then
/// wakes the loop.
Buffer lease(const OperationPtr& operation, std::span<const std::byte> bytes,
             const std::shared_ptr<Waker>& waker);

}  // namespace stretto
