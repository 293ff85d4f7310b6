// SPDX-License-Identifier: Apache-2.0
// The file is opened without following links, and checked once open. All of its memory is allocated
// before use: a full /dev/shm is an error here, not a signal later.
#include "van/host_window/host_registry_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <utility>
#include <vector>

namespace stretto::host {
namespace {

constexpr std::uint64_t kMagic = 0x7374726574746f02;  // "stretto" and the version of the layout.
constexpr int kTries = 10;                            // Retries after EINTR.
constexpr std::size_t kMostLookedAt = 256;
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

Status no_file(const std::string& path, std::string_view why) {
  return {Code::kResource, fmt::format("{} {}", path, why)};
}

std::string prefix_of_user() { return fmt::format("stretto-host-{}-", ::geteuid()); }

// Why the opened file is unusable; empty: it is usable.
std::string fault_of(const Descriptor& file, const struct stat& found) {
  struct statfs system{};
  if (!S_ISREG(found.st_mode)) return "is no regular file";
  if (found.st_uid != ::geteuid()) {
    return fmt::format("belongs to another user (uid {}, wanted {})", found.st_uid, ::geteuid());
  }
  if ((found.st_mode & 07777) != kOwnerOnly || found.st_nlink != 1) {
    return fmt::format("has mode {:04o} and {} names, wanted 0600 and one; remove it",
                       found.st_mode & 07777, found.st_nlink);
  }
  // On a disk or network file system, mapped pages would be written back.
  if (::fstatfs(file.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return "is not in memory (tmpfs)";
  }
  return {};
}

}  // namespace

std::string seats_path(std::string_view folder, std::uint32_t interface) {
  struct stat network{};
  const bool found = ::stat("/proc/self/ns/net", &network) == 0;
  return fmt::format("{}/{}{}-{}", folder, prefix_of_user(), found ? network.st_ino : 0, interface);
}

void remove_abandoned(const std::string& path, const ProcessMark& mine, const LifeOf& life_of,
                      Time now) {
  const std::string prefix = prefix_of_user();
  std::vector<std::string> others;
  std::error_code none;
  for (std::filesystem::directory_iterator each(std::filesystem::path(path).parent_path(), none),
       end;
       !none && each != end && others.size() < kMostLookedAt; each.increment(none)) {
    const bool ours = each->path().filename().string().starts_with(prefix);
    if (ours && each->path() != path) others.push_back(each->path());
  }
  for (const std::string& other : others) {
    Result<HostRegistryFile> file = HostRegistryFile::open(other);
    if (file.ok()) file->remove_if_empty(mine, life_of, now);
  }
}

Result<HostRegistryFile> HostRegistryFile::open(const std::string& path) {
  const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  const Descriptor file(::open(path.c_str(), flags, kOwnerOnly));
  if (!file.is_open()) return no_file(path, "cannot be opened: " + std::string(::strerror(errno)));
  struct stat found{};
  if (::fstat(file.get(), &found) != 0) return no_file(path, ::strerror(errno));
  if (const std::string why = fault_of(file, found); !why.empty()) return no_file(path, why);
  const auto size = static_cast<off_t>(sizeof(SeatsLayout));
  if (found.st_size != 0 && found.st_size != size) {
    return no_file(path, fmt::format("has {} bytes, wanted {}; remove it if no program of another "
                                     "version runs",
                                     found.st_size, size));
  }
  // Also for an existing file: its creator may have been killed before this.
  int error = EINTR;
  for (int i = 0; i < kTries && error == EINTR; ++i) {
    error = ::posix_fallocate(file.get(), 0, size);
  }
  if (error != 0) {
    return no_file(path, "has no memory: " + std::string(::strerror(error)));
  }
  void* const start =
      ::mmap(nullptr, sizeof(SeatsLayout), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (start == MAP_FAILED) return no_file(path, ::strerror(errno));
  HostRegistryFile opened(path, found, static_cast<SeatsLayout*>(start));
  std::uint64_t magic = 0;
  if (!opened.layout_->magic.compare_exchange_strong(magic, kMagic) && magic != kMagic) {
    return Status(Code::kUnsupported,
                  fmt::format("{} is of another version (it begins with {:x}, wanted {:x}); remove "
                              "it if no program of that version runs",
                              path, magic, kMagic));
  }
  return opened;
}

HostRegistryFile::HostRegistryFile(HostRegistryFile&& other) noexcept
    : path_(std::move(other.path_)),
      is_new_(other.is_new_),
      device_(other.device_),
      number_(other.number_),
      layout_(std::exchange(other.layout_, nullptr)) {}

HostRegistryFile::~HostRegistryFile() {
  if (layout_ != nullptr) ::munmap(layout_, sizeof(SeatsLayout));
}

bool HostRegistryFile::is_current() const {
  struct stat found{};
  return ::lstat(path_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == number_;
}

// The seats stay taken, so that no process starts in a removed file.
void HostRegistryFile::remove_if_empty(const ProcessMark& mine, const LifeOf& life_of, Time now) {
  if (seats().take_all(mine, life_of, now) && is_current()) ::unlink(path_.c_str());
}

}  // namespace stretto::host
