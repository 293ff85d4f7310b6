// SPDX-License-Identifier: Apache-2.0
// One system call a method; <errno.h> says what was wrong.
#include "common/files/real_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>

#include "common/descriptor.h"

namespace stretto {
namespace {

constexpr mode_t kNewFile = 0666;  // Less the umask.
constexpr mode_t kNewFolder = 0777;

class RealFile final : public File {
 public:
  RealFile(const std::string& path, Descriptor file) : File(path), file_(std::move(file)) {}

 private:
  Done read_some(std::uint64_t offset, std::span<std::byte> into) override {
    return done(::pread(file_.get(), into.data(), into.size(), static_cast<off_t>(offset)));
  }
  Done write_some(std::uint64_t offset, std::span<const std::byte> bytes) override {
    return done(::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)));
  }
  void fetch(std::uint64_t offset, std::uint64_t bytes) override {
    static_cast<void>(::posix_fadvise(file_.get(), static_cast<off_t>(offset),
                                      static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
  }
  int sync_all() override { return ::fdatasync(file_.get()) == 0 ? 0 : errno; }
  Result<std::uint64_t> size_now() override {
    struct stat found{};
    if (::fstat(file_.get(), &found) != 0) return disk_error("look at", path(), errno);
    return static_cast<std::uint64_t>(found.st_size);
  }
  static Done done(ssize_t count) {
    return count < 0 ? Done{.bytes = 0, .error = errno}
                     : Done{.bytes = static_cast<std::size_t>(count), .error = 0};
  }

  Descriptor file_;
};

class RealHold final : public FileHold {
 public:
  explicit RealHold(Descriptor file) : file_(std::move(file)) {}

 private:
  Descriptor file_;  // The kernel lets go when it is closed.
};

int flags_of(Open how) {
  switch (how) {
    case Open::kRead:
      return O_RDONLY;
    case Open::kWrite:
      return O_RDWR;
    case Open::kCreate:
      return O_RDWR | O_CREAT | O_EXCL;
  }
  return O_RDONLY;
}

}  // namespace

Result<std::unique_ptr<File>> RealDisk::open(const std::string& path, Open how) {
  Descriptor file(::open(path.c_str(), flags_of(how) | O_CLOEXEC, kNewFile));
  if (!file.is_open()) return disk_error(how == Open::kCreate ? "make" : "open", path, errno);
  return std::unique_ptr<File>(std::make_unique<RealFile>(path, std::move(file)));
}

Status RealDisk::rename(const std::string& from, const std::string& to) {
  if (Status status = check_rename(from, to); !status.ok()) return status;
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  return disk_error(fmt::format("rename '{}' to", from), to, errno);
}

Status RealDisk::remove(const std::string& path) {
  if (::remove(path.c_str()) == 0 || errno == ENOENT) return {};
  return disk_error("remove", path, errno);
}

Status RealDisk::make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), kNewFolder) == 0) return {};
  const int error = errno;
  struct stat found{};
  const bool there = ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
  return error == EEXIST && there ? Status() : disk_error("make the folder", path, error);
}

Status RealDisk::sync_folder(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.get()) != 0) {
    return disk_error("sync the folder", path, errno);
  }
  return {};
}

Result<std::vector<std::string>> RealDisk::list(const std::string& path, std::size_t most) {
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(::opendir(path.c_str()), ::closedir);
  if (!listing) return disk_error("list", path, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(listing.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most) return too_many(path, most);
    names.push_back(name);
  }
  if (errno != 0) return disk_error("list", path, errno);
  std::sort(names.begin(), names.end());
  return names;
}

Result<bool> RealDisk::exists(const std::string& path) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) == 0) return true;
  if (errno == ENOENT) return false;
  return disk_error("look at", path, errno);
}

Result<Space> RealDisk::space(const std::string& path) {
  struct statvfs found{};
  if (::statvfs(path.c_str(), &found) != 0) {
    return disk_error("find out the space at", path, errno);
  }
  return Space{.available_bytes = std::uint64_t{found.f_bavail} * found.f_frsize,
               .total_bytes = std::uint64_t{found.f_blocks} * found.f_frsize};
}

Result<std::unique_ptr<FileHold>> RealDisk::hold(const std::string& path) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kNewFile));
  const bool is_others = !file.is_open() && errno == EACCES;  // Another user's: read only.
  if (is_others) file = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return disk_error("open", path, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) {
    return std::unique_ptr<FileHold>(std::make_unique<RealHold>(std::move(file)));
  }
  if (errno == EWOULDBLOCK) return std::unique_ptr<FileHold>();
  const int error = errno;
  const Status status = disk_error("lock", path, error);
  const bool cannot = error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP;
  return cannot ? Status(Code::kUnsupported, status.cause()) : status;
}

}  // namespace stretto
