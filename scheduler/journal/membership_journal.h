// SPDX-License-Identifier: Apache-2.0
// MembershipJournal: writes down what a scheduler decides, before anybody hears of it, so that
// another one can go on from there. What members can tell again, and the signs of their life, is
// not in it.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scheduler/journal/journal.h"
#include "scheduler/membership/view_machine.h"
#include "van/control/control.h"

namespace stretto {

/// What the schedulers before this one have left, and where it writes.
struct RecoveredState {
  std::unique_ptr<Journal> journal;         ///< Null: this one does not come back.
  std::vector<JournalRecord> records = {};  ///< Of those before; none: it is the first.
  std::uint64_t job = 0;                    ///< The number that the first one gave it.
};

/// Opens the journal, or makes it, as the configuration says; a later scheduler's goes on from the
/// checkpoint from which the first one did, whose tensors are added to `restored`. Calls block.
/// Errors: of a later one only. The first does without, and says so in the log.
Result<RecoveredState> past_of(Config& config, Disk& disk, std::set<std::string>& restored);

/// Thread: loop.
class MembershipJournal {
 public:
  using Event = ViewEvent;

  /// The journal may be null: nothing is written down.
  explicit MembershipJournal(std::unique_ptr<Journal> journal) : journal_(std::move(journal)) {}

  /// Another could go on from what has been written.
  bool is_kept() const { return journal_ != nullptr; }

  /// The first lines.
  void begin(std::uint64_t job, const Config& config, const std::set<std::string>& restored);
  /// What the machine makes of the event, which is written down if it changes who is in.
  std::vector<ViewOrder> on(ViewMachine& machine, const ViewEvent& event, Time now);
  /// This scheduler goes on in the place of another one.
  std::vector<ViewOrder> renew(ViewMachine& machine, std::uint32_t life, Time now);
  void declared(Rank worker, const TensorSpec& spec);
  void opened(const control::Barrier& barrier);
  void visited() { add({.kind = JournalRecord::Kind::kVisited}); }
  void cut(const control::Barrier& barrier, const control::CheckpointCut& cut);
  void saved(std::uint64_t number, std::uint64_t step);
  void dropped(std::uint64_t attempt);
  /// A server of this number is not waited for any more.
  void unwanted(Rank server) { add({.kind = JournalRecord::Kind::kUnwanted, .number = server}); }

  /// Before anybody hears of what was written down since. An error is logged, and then nothing more
  /// is written, and nobody can go on from it. True if that is so from now on.
  bool commit();

  /// Members that have left or were lost, and are not in the view any more; the last came last. A
  /// member that missed more departures than these cannot go on with another scheduler.
  static constexpr std::size_t kMostDeparted = 1024;
  const std::deque<Member>& departed() const { return departed_; }
  /// Null if the member is not among these.
  const Member* departed(NodeId node) const;
  /// Of a view that was published.
  void note_departed(const std::vector<ViewOrder>& orders, const View& view);

 private:
  void add(JournalRecord record);
  bool add_losses(const ViewEvent& event, const std::vector<ViewOrder>& orders);

  std::unique_ptr<Journal> journal_;
  std::uint32_t epoch_ = 0;
  std::deque<Member> departed_;
};

/// Adds the newest of these members that fit into one message.
void add_departed(Roster& roster, const std::deque<Member>& departed);

/// What others are told, as a record's text, and back.
std::string text_of(const control::Message& message);
Result<control::Message> message_in(const JournalRecord& record);
/// By which somebody joined.
control::Hello hello_of(const Join& join);

}  // namespace stretto
