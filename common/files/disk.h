// SPDX-License-Identifier: Apache-2.0
// Disk: files behind an interface, so that crash-safe code also runs in the simulator, on a disk
// that loses and tears unsynced data, fills up and fails. RealDisk is the operating system's.
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
  kRead,    ///< An existing file, for reading.
  kWrite,   ///< An existing file, for reading and writing.
  kCreate,  ///< A new file, for reading and writing.
};

/// An open file, which its destructor closes. Access is by offset; there is no current position.
/// Errors name the path, the system's reason and a remedy. Thread: any, one at a time; calls block,
/// see Disk.
class File {
 public:
  explicit File(std::string path) : path_(std::move(path)) {}
  virtual ~File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Fills `into` from `offset` on; returns the number of bytes read: fewer only at the file's end.
  Result<std::size_t> read(std::uint64_t offset, std::span<std::byte> into);
  /// Writes all of it; an error reports how many bytes were written (a full disk takes some). A gap
  /// behind the file's end reads as zeros. Until sync() a crash of the machine may lose any of its
  /// sectors, and keep others.
  Status write(std::uint64_t offset, std::span<const std::byte> bytes);
  /// Prefetch hint for these bytes. Returns at once, and cannot fail.
  void will_read(std::uint64_t offset, std::uint64_t bytes) { fetch(offset, bytes); }
  /// Flushes written bytes and the file's size to the device; for its name see Disk::sync_folder.
  /// After an error the file is unusable, and every later call repeats the error: the kernel may
  /// have dropped the pages that it could not write, and would report success the next time. The
  /// caller must rewrite all data since the last sync, under another name.
  Status sync();
  Result<std::uint64_t> size();

 protected:
  /// Result of one system call: bytes, or an error of <errno.h>. It may be partial or interrupted;
  /// this class continues.
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
  Status dead_;  // The cause of a failed sync, after which no call proceeds.
};

/// An exclusive lock on a file while this object and its process exist. Thread: any.
class FileHold {
 public:
  FileHold() = default;
  virtual ~FileHold() = default;
  FileHold(const FileHold&) = delete;
  FileHold& operator=(const FileHold&) = delete;
};

/// Space of a file system that this user may use. Quotas are not included: they show up as write
/// errors.
struct Space {
  std::uint64_t available_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// Files and folders by path. Changes of names (create, rename, remove) are visible at once,
/// survive the end of this process, and survive a crash of the machine after sync_folder() of their
/// folder. Until then each may be lost as a whole, and two changes of one name keep their order.
/// Errors: InvalidArgument if the path cannot be used so (missing, or of another kind), Resource if
/// the system failed (no space, quota, device, descriptors).
/// Thread: any. Calls block: a sync for seconds, and a write once the kernel's buffers are full. A
/// loop that moves tensors may only do small writes and renames; syncs need a thread of their own.
class Disk {
 public:
  virtual ~Disk() = default;

  virtual Result<std::unique_ptr<File>> open(const std::string& path, Open how) = 0;
  /// Renames a file or folder within one folder, atomically; replaces a file of the new name. One
  /// sync_folder() covers the change.
  virtual Status rename(const std::string& from, const std::string& to) = 0;
  /// Removes a file or an empty folder. Ok if there is none. Open files remain usable.
  virtual Status remove(const std::string& path) = 0;
  /// Creates a folder. Ok if it exists; its parent must exist.
  virtual Status make_folder(const std::string& path) = 0;
  /// Flushes this folder's names to the device, including removals and renames. Not the files'
  /// content: sync them first.
  virtual Status sync_folder(const std::string& path) = 0;
  /// The names in a folder, sorted. More than `most` names are an error.
  virtual Result<std::vector<std::string>> list(const std::string& path, std::size_t most) = 0;
  virtual Result<bool> exists(const std::string& path) = 0;
  virtual Result<Space> space(const std::string& path) = 0;
  /// Locks a file against other holders on any host that sees it; creates it if it does not exist.
  /// Its bytes stay readable and writable. Null: another process holds it. Unsupported if the file
  /// system has no locks.
  virtual Result<std::unique_ptr<FileHold>> hold(const std::string& path) = 0;
};

/// The failure that a replaced file must survive.
enum class Durability : std::uint8_t {
  kProcess,  ///< The end of this process. Does not wait for the device.
  kMachine,  ///< A crash of the machine.
};

/// Replaces or creates a file: after a crash it has the complete old or the complete new content;
/// after ok, the new. After an error it has either (if only syncing the folder failed, a later
/// crash decides). One caller per path at a time: `path`.new is written first.
Status replace_file(Disk& disk, const std::string& path, std::span<const std::byte> bytes,
                    Durability durability);

/// The folder that a path lies in: "." for a name alone.
std::string folder_of(const std::string& path);

/// "cannot WHAT 'PATH': why; what to do", for an error of <errno.h>; for implementations of Disk.
Status disk_error(std::string_view what, const std::string& path, int error);
/// For list().
Status too_many(const std::string& path, std::size_t most);
/// For rename(): why a file cannot be renamed between these two.
Status check_rename(const std::string& from, const std::string& to);

}  // namespace stretto
