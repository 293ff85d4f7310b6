// SPDX-License-Identifier: Apache-2.0
// Journal: an append-only file of records. The next scheduler reads all committed records, however
// this process ended; an incomplete commit does not count. The journal serves a single launcher on
// its machine, so a commit waits for no device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/files/disk.h"

namespace stretto {

/// A record of the journal. The kind determines the meaning of the numbers and the text.
struct JournalRecord {
  enum class Kind : std::uint8_t {
    kBegun = 1,      ///< A job: its number, its part size; `text`: protocol.
    kRestored = 2,   ///< It resumes from this checkpoint, of this step,
    kTensor = 3,     ///< which has a tensor of this name.
    kJoined = 4,     ///< A process, by this hello.
    kLeft = 5,       ///< This node, in order.
    kGone = 6,       ///< The link of this node has ended, for this reason.
    kLost = 7,       ///< This node failed, for this reason; `more` is 1: its replacement did.
    kPublished = 8,  ///< The changes of a view.
    kDeclared = 9,   ///< A tensor, by the worker of this number and this message.
    kVisited = 10,   ///< A process that is not a member got a node id.
    kOpened = 11,    ///< This barrier.
    kSaved = 12,     ///< The checkpoint of this number, of this step, is complete.
    kRenewed = 13,   ///< A scheduler of this incarnation has taken over.
    kFailed = 14,    ///< The job failed, by this message.
    kCut = 15,       ///< A checkpoint, by this message: its attempt and its barrier.
    kDropped = 16,   ///< This attempt failed.
    kCaught = 17,    ///< This server reports that this standby is in sync.
    kTold = 18,      ///< This worker reports a step: an answer, or its own progress.
    kUnwanted = 19   ///< The server of this number is not awaited; the launcher is told.
  };

  Kind kind = Kind::kBegun;
  std::uint32_t epoch = 0;  ///< Of the view after this record.
  std::uint64_t number = 0;
  std::uint64_t more = 0;
  std::string text = {};

  friend bool operator==(const JournalRecord&, const JournalRecord&) = default;
};

/// Thread: loop. Calls that open it block; a commit is one small write, and no sync.
class Journal {
 public:
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;

  struct Found {
    std::unique_ptr<Journal> journal;
    std::vector<JournalRecord> records;
  };
  /// A new journal. The disk outlives it. Errors are the disk's: the file must not exist.
  static Result<std::unique_ptr<Journal>> begin(Disk& disk, const std::string& path);
  /// An existing journal, to append to. Skips a last commit that is incomplete. Errors: Malformed,
  /// if anything else is damaged; and the disk's.
  static Result<Found> go_on(Disk& disk, const std::string& path);

  /// Adds the record to the next commit.
  void add(const JournalRecord& record);
  bool has_news() const { return !batch_.empty(); }
  /// All added records survive the end of this process, but not a crash of the machine, which ends
  /// the launcher too. After an error the journal must not be used any more.
  Status commit();
  /// Removes the file: no scheduler can resume from it.
  void discard() { static_cast<void>(disk_.remove(path_)); }

 private:
  Journal(Disk& disk, std::string path, std::unique_ptr<File> file)
      : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
  static Status hold(Disk& disk, const std::string& path, std::unique_ptr<FileHold>& held);

  Disk& disk_;
  const std::string path_;
  std::unique_ptr<File> file_;
  std::unique_ptr<FileHold> hold_;  // Keeps other schedulers from writing.
  std::uint64_t end_ = 0;
  std::uint32_t commits_ = 0;  // In the file.
  std::string batch_;          // The records of the next commit.
};

}  // namespace stretto
