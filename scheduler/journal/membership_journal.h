// SPDX-License-Identifier: Apache-2.0
// MembershipJournal: records a scheduler's decisions before any node learns of them, so that
// another scheduler can resume from there. It leaves out what members can report again, and their
// signs of life.
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

/// The state that previous schedulers have left, and the journal to append to.
struct RecoveredState {
  std::unique_ptr<Journal> journal;         ///< Null: this scheduler cannot be replaced.
  std::vector<JournalRecord> records = {};  ///< Of previous schedulers; empty: this is the first.
  std::uint64_t job = 0;                    ///< The job's number from its first scheduler.
};

/// Opens or creates the journal, as configured. A later scheduler resumes from the first one's
/// checkpoint, whose tensors are added to `restored`. Blocks. Errors only for a later scheduler:
/// the first logs them and runs without a journal.
Result<RecoveredState> past_of(Config& config, Disk& disk, std::set<std::string>& restored);

/// Thread: loop.
class MembershipJournal {
 public:
  using Event = ViewEvent;

  /// The journal may be null: nothing is recorded.
  explicit MembershipJournal(std::unique_ptr<Journal> journal) : journal_(std::move(journal)) {}

  /// Another scheduler could resume from the journal.
  bool is_kept() const { return journal_ != nullptr; }

  /// Adds the first records.
  void begin(std::uint64_t job, const Config& config, const std::set<std::string>& restored);
  /// Passes the event to the machine, and records it if it changes the membership.
  std::vector<ViewOrder> on(ViewMachine& machine, const ViewEvent& event, Time now);
  /// This scheduler takes over from another one.
  std::vector<ViewOrder> renew(ViewMachine& machine, std::uint32_t life, Time now);
  void declared(Rank worker, const TensorSpec& spec);
  void opened(const control::Barrier& barrier);
  void visited() { add({.kind = JournalRecord::Kind::kVisited}); }
  void cut(const control::Barrier& barrier, const control::CheckpointCut& cut);
  void saved(std::uint64_t number, std::uint64_t step);
  void dropped(std::uint64_t attempt);
  /// A server of this number is not awaited any more.
  void unwanted(Rank server) { add({.kind = JournalRecord::Kind::kUnwanted, .number = server}); }

  /// Call before any node learns of the records. Logs an error, and then records nothing and
  /// prevents any resume. True if that happened in this call.
  bool commit();

  /// Members that have left or failed, and are not in the view any more, oldest first. A member
  /// that missed more departures than these cannot continue with another scheduler.
  static constexpr std::size_t kMostDeparted = 1024;
  const std::deque<Member>& departed() const { return departed_; }
  /// Null if the member is unknown here.
  const Member* departed(NodeId node) const;
  /// Notes the departures of a published view.
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

/// Converts a message to a record's text, and back.
std::string text_of(const control::Message& message);
Result<control::Message> message_in(const JournalRecord& record);
/// The hello of this request to join.
control::Hello hello_of(const Join& join);

}  // namespace stretto
