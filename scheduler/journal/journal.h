// SPDX-License-Identifier: Apache-2.0
// Journal: a file of records to which is only added. The next scheduler reads what was committed,
// however this process ended; a commit that was cut short never was. The journal serves one
// launcher on one machine, so a commit waits for no device.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/files/disk.h"

namespace stretto {

/// What a scheduler writes down. What the numbers and the text are depends on the kind.
struct JournalRecord {
  enum class Kind : std::uint8_t {
    kBegun = 1,      ///< A job: its number, its parts' bytes; of protocol `text`.
    kRestored = 2,   ///< It goes on from this checkpoint, of this step,
    kTensor = 3,     ///< which has a tensor of this name.
    kJoined = 4,     ///< By this hello.
    kLeft = 5,       ///< This node has, in order.
    kGone = 6,       ///< Its link has ended, for this reason.
    kLost = 7,       ///< For this reason; if `more` is 1, its replacement before it joined.
    kPublished = 8,  ///< What has changed.
    kDeclared = 9,   ///< The worker of this number has, by this message.
    kVisited = 10,   ///< Somebody who is no member, and has an identity.
    kOpened = 11,    ///< This barrier.
    kSaved = 12,     ///< The checkpoint of this number, of this step; it is complete.
    kRenewed = 13,   ///< A scheduler of this life has taken over.
    kFailed = 14,    ///< The job has, by this message.
    kCut = 15,       ///< A checkpoint, by this message: which attempt, at which barrier.
    kDropped = 16,   ///< That came to nothing.
    kCaught = 17,    ///< This server says that this one, which stands by for it, has all.
    kTold = 18,      ///< This worker, which step: an answer, or that it comes or has come in.
    kUnwanted = 19   ///< A server of this number is not, and the launcher hears so.
  };

  Kind kind = Kind::kBegun;
  std::uint32_t epoch = 0;  ///< Of the view that there is with it.
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
  /// A new one. The disk outlives it. Errors are the disk's: the file must not be there.
  static Result<std::unique_ptr<Journal>> begin(Disk& disk, const std::string& path);
  /// One that is there, to which can be added. A last commit that is not whole is passed over.
  /// Errors: Malformed, if anything else is damaged; and the disk's.
  static Result<Found> go_on(Disk& disk, const std::string& path);

  /// It is in the next commit.
  void add(const JournalRecord& record);
  bool has_news() const { return !batch_.empty(); }
  /// All that was added survives the end of this process, not a crash of the machine, which ends
  /// the launcher too. After an error the journal is of no more use.
  Status commit();
  /// Nobody is to go on from it.
  void discard() { static_cast<void>(disk_.remove(path_)); }

 private:
  Journal(Disk& disk, std::string path, std::unique_ptr<File> file)
      : disk_(disk), path_(std::move(path)), file_(std::move(file)) {}
  static Status hold(Disk& disk, const std::string& path, std::unique_ptr<FileHold>& held);

  Disk& disk_;
  const std::string path_;
  std::unique_ptr<File> file_;
  std::unique_ptr<FileHold> hold_;  // Nobody else writes to it.
  std::uint64_t end_ = 0;
  std::uint32_t commits_ = 0;  // In it.
  std::string batch_;          // What the next one will hold.
};

}  // namespace stretto
