// SPDX-License-Identifier: Apache-2.0
// What all disks share: short and interrupted calls go on, errors are worded, and a file whose sync
// failed stays dead.
#include "common/files/disk.h"

#include <errno.h>
#include <fmt/core.h>
#include <string.h>

namespace stretto {
namespace {

constexpr std::string_view kDraftSuffix = ".new";

bool concerns_path(int error) {
  return error == ENOENT || error == EEXIST || error == ENOTDIR || error == EISDIR ||
         error == ENOTEMPTY || error == EACCES || error == EPERM || error == EROFS ||
         error == ENAMETOOLONG || error == EINVAL || error == EBADF || error == ELOOP;
}

std::string_view advice_on_disk(int error) {
  switch (error) {
    case ENOSPC:
      return "; make room there, or name another folder";
    case EDQUOT:
      return "; this user's quota is used up: make room, or have it raised";
    case EFBIG:
      return "; raise `ulimit -f`, or name a folder on another file system";
    case EIO:
      return "; the device failed: see the kernel's log (dmesg), and name another disk";
    case EMFILE:
    case ENFILE:
      return "; raise `ulimit -n`";
    case ENOENT:
      return "; look at the path: each folder in it must be there";
    case ENOTDIR:
      return "; look at the path: a file is where a folder should be";
    case EACCES:
    case EPERM:
      return "; this user may not: have its permissions changed, or name another path";
    case EROFS:
      return "; name a folder that can be written to";
    default:
      return "";
  }
}

Status draft_written(Disk& disk, const std::string& draft, std::span<const std::byte> bytes,
                     Durability durability) {
  if (Status status = disk.remove(draft); !status.ok()) return status;  // A crash may have left it.
  Result<std::unique_ptr<File>> file = disk.open(draft, Open::kCreate);
  if (!file.ok()) return file.status();
  if (Status status = (*file)->write(0, bytes); !status.ok()) return status;
  return durability == Durability::kMachine ? (*file)->sync() : Status();
}

}  // namespace

Result<std::size_t> File::read(std::uint64_t offset, std::span<std::byte> into) {
  if (!dead_.ok()) return dead_;
  std::size_t count = 0;
  while (count < into.size()) {
    const Done done = read_some(offset + count, into.subspan(count));
    if (done.error == EINTR) continue;
    if (done.error != 0) return disk_error("read", path_, done.error);
    if (done.bytes == 0) break;
    count += done.bytes;
  }
  return count;
}

Status File::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!dead_.ok()) return dead_;
  std::size_t count = 0;
  while (count < bytes.size()) {
    const Done done = write_some(offset + count, bytes.subspan(count));
    if (done.error == EINTR) continue;
    const int error = done.bytes == 0 && done.error == 0 ? EIO : done.error;
    if (error != 0) {
      return disk_error(fmt::format("write more than {} of {} bytes to", count, bytes.size()),
                        path_, error);
    }
    count += done.bytes;
  }
  return {};
}

Status File::sync() {
  if (!dead_.ok()) return dead_;
  int error = EINTR;
  while (error == EINTR) error = sync_all();
  if (error != 0) {
    const Status why = disk_error("sync", path_, error);
    dead_ = Status(why.code(), why.cause() +
                                   "; what was written to it may be lost, and another "
                                   "sync would not tell: write it anew, under another "
                                   "name");
  }
  return dead_;
}

Result<std::uint64_t> File::size() {
  if (!dead_.ok()) return dead_;
  return size_now();
}

Status replace_file(Disk& disk, const std::string& path, std::span<const std::byte> bytes,
                    Durability durability) {
  const std::string draft = path + std::string(kDraftSuffix);
  Status status = draft_written(disk, draft, bytes, durability);
  if (status.ok()) status = disk.rename(draft, path);
  if (!status.ok()) {
    static_cast<void>(disk.remove(draft));  // The first error counts.
    return status;
  }
  return durability == Durability::kMachine ? disk.sync_folder(folder_of(path)) : Status();
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status disk_error(std::string_view what, const std::string& path, int error) {
  return {
      concerns_path(error) ? Code::kInvalidArgument : Code::kResource,
      fmt::format("cannot {} '{}': {}{}", what, path, ::strerror(error), advice_on_disk(error))};
}

Status too_many(const std::string& path, std::size_t most) {
  return {
      Code::kResource,
      fmt::format("there are more than {} files in '{}'; remove what is not needed", most, path)};
}

Status check_rename(const std::string& from, const std::string& to) {
  if (folder_of(from) == folder_of(to)) return {};
  return {Code::kInvalidArgument,
          fmt::format("cannot rename '{}' to '{}', which is in another folder; rename within one",
                      from, to)};
}

}  // namespace stretto
