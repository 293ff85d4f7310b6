// SPDX-License-Identifier: Apache-2.0
// Disk: files behind an interface, so that what must survive a crash also runs in the simulator, on
// a disk that loses and tears what was not synced, fills up and fails. RealDisk is the operating
// system's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"

namespace stretto {

enum class Open : std::uint8_t {
  kRead,    ///< A file that is there, to be read.
  kWrite,   ///< A file that is there, to be read and written.
  kCreate,  ///< A file that is not there, to be read and written.
};

/// An open file; it is closed with its object. Bytes have offsets, there is no current position.
/// Errors name the path, the system's reason and what to do. Thread: any, one at a time; calls
/// block, see Disk.
class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Fills `into` from `offset` on; returns how many bytes there were: fewer only at the file's
  /// end.
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into);
  /// Writes all of it, or an error says after how many bytes it stopped (a full disk takes some).
  /// What it left behind the file's end is zero. Until sync() a crash of the machine may lose any
  /// sector of it, and keep others.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// These bytes will be read soon: the device may begin. It returns at once, and cannot fail.
  void will_read(std::uint64_t offset, std::uint64_t bytes) { fetch(offset, bytes); }
  /// What was written is on the device, and the file's size with it; not its name: see
  /// Disk::sync_folder. Once this has failed the file is of no more use, and every later call
  /// repeats the error: the kernel may have dropped the pages that it could not write and would
  /// report success the next time. What the file held since its last sync has to be written anew,
  /// under another name.
  Status sync();
  Result<std::uint64_t> size();

 protected:
  /// What came of one system call: bytes, or an error of <errno.h>. It may do less than it was
  /// asked to, or be interrupted; this class goes on.
  struct Done {
    std::size_t bytes = 0;
    int error = 0;
  };
  const std::string& path() const { return path_; }

 private:
  virtual Done read_some(std::uint64_t offset, std::span<std::byte> into) = 0;
  virtual Done write_some(std::uint64_t offset, std::span<const std::byte> bytes) = 0;
  virtual void fetch(std::uint64_t /*offset*/, std::uint64_t /*bytes*/) {}
  virtual int sync_all() = 0;  // An error of <errno.h>, or 0.
  virtual Result<std::uint64_t> size_now() = 0;

  const std::string path_;
  Status dead_;  // Why nothing more is done with it, once a sync has failed.
};

/// Nobody else holds the file as long as this is there, and its process. Thread: any.
class FileHold {
 public:
  FileHold() = default;
  virtual ~FileHold() = default;
  FileHold(const FileHold&) = delete;
  FileHold& operator=(const FileHold&) = delete;
};

/// Of a file system, as far as this user may use it. Quotas are not in it: they show when something
/// is written.
struct Space {
  std::uint64_t available_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Files and folders by their paths. Changes of names (creating, renaming, removing) are seen at
/// once, survive the end of this process, and survive a crash of the machine once their folder has
/// been synced; until then each may be lost, though never half done, and two that concern one name
/// are not exchanged.
/// Errors: InvalidArgument where the path cannot be used so (nothing is there, or something else),
/// Resource where the system failed (no space, quota, device, descriptors).
/// Thread: any. Calls block: a sync for seconds, a write too once the kernel has taken as much as
/// it will. A loop that moves tensors calls nothing but small writes and renames; whatever syncs
/// has a thread of its own.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::unique_ptr<File>> open(const std::string& path, Open how) = 0;
  /// Gives a file or folder another name in the same folder, in one step; a file of that name is
  /// replaced. Within a folder only, so that one sync_folder() covers it.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file or an empty folder. Ok if there is none. Open files can be used to their end.
  virtual Status remove(const std::string& path) = 0;
  /// Makes a folder. Ok if it is there; the one that it is in must be.
  virtual Status make_folder(const std::string& path) = 0;
  /// The names in this folder are on the device, what was removed or renamed is too. Not what the
  /// files hold: sync them first.
  virtual Status sync_folder(const std::string& path) = 0;
  /// The names in a folder, sorted. More than `most` are an error.
  virtual Result<std::vector<std::string>> list(const std::string& path, std::size_t most) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  virtual Result<Space> space(const std::string& path) = 0;
  /// Holds a file, which is made if it is not there, against all who hold it too, on any host that
  /// sees it; its bytes are read and written by others as ever. Null: somebody else holds it.
  /// Unsupported where the file system has no locks.
  virtual Result<std::unique_ptr<FileHold>> hold(const std::string& path) = 0;
};

/// What a file must survive that is replaced as a whole.
enum class Durability : std::uint8_t {
  kProcess,  ///< The end of this process. Does not wait for the device.
  kMachine,  ///< A crash of the machine.
};

/// Replaces a file, or makes it: whatever crashes in between, the file then holds all of its old
/// content or all of the new; once this has returned ok, the new. At an error it holds either (if
/// syncing the folder failed, which one after a crash is open). One caller a path at a time:
/// `path`.new is written first.
Status replace_file(Disk& disk, const std::string& path, std::span<const std::byte> bytes,
                    Durability durability);

/// The folder that a path lies in: "." for a name alone.
std::string folder_of(const std::string& path);

/// "cannot WHAT 'PATH': why; what to do", of an error of <errno.h>; for implementations of Disk.
Status disk_error(std::string_view what, const std::string& path, int error);
/// For list().
Status too_many(const std::string& path, std::size_t most);
/// For rename(): why these two names cannot be one file's, one after the other.
Status check_rename(const std::string& from, const std::string& to);

}  // namespace stretto
