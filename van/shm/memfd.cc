// SPDX-License-Identifier: Apache-2.0
// memfd_create, its seals, and mmap.
#include "van/shm/memfd.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>

#include "common/system_error.h"

namespace stretto::shm {
namespace {

// These constants are newer than the kernel headers of the supported build systems.
constexpr unsigned kNoExecute = 0x0008U;  // MFD_NOEXEC_SEAL, Linux 6.3.
constexpr int kFutureWrite = 0x0010;      // F_SEAL_FUTURE_WRITE, Linux 5.1.

}  // namespace

Mapping::~Mapping() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

Result<Mapping> Mapping::map(const Descriptor& memory, std::size_t bytes, Access access) {
  const int protection = access == Access::kWrite ? PROT_READ | PROT_WRITE : PROT_READ;
  void* const start = ::mmap(nullptr, bytes, protection, MAP_SHARED, memory.get(), 0);
  if (start == MAP_FAILED) {
    return failure(fmt::format("wanted to map {} bytes of shared memory", bytes), errno);
  }
  return Mapping({static_cast<std::byte*>(start), bytes});
}

Result<Descriptor> make_memory(std::size_t bytes) {
  const char* const name = "stretto";  // Visible only in /proc.
  int number = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecute);
  if (number < 0 && errno == EINVAL) {
    number = ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  }
  const auto wanted = [bytes] { return fmt::format("wanted {} bytes of shared memory", bytes); };
  if (number < 0) return failure(wanted(), errno);
  Descriptor memory(number);
  if (::ftruncate(number, static_cast<off_t>(bytes)) != 0) return failure(wanted(), errno);
  return memory;
}

Status seal(const Descriptor& memory, bool others_only_read) {
  const int seals =
      F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (others_only_read ? kFutureWrite : 0);
  if (::fcntl(memory.get(), F_ADD_SEALS, seals) == 0) return {};
  return failure("wanted to seal shared memory", errno);
}

Status check_memory(const Descriptor& memory, std::size_t bytes) {
  struct statfs system{};
  struct stat file{};
  // Only tmpfs guarantees that mapped memory can be read.
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (::fstatfs(memory.get(), &system) != 0 || system.f_type != TMPFS_MAGIC || seals < 0 ||
      ::fstat(memory.get(), &file) != 0) {
    return {Code::kMalformed, "a descriptor that is no shared memory came"};
  }
  if ((seals & F_SEAL_SHRINK) == 0) {
    return {Code::kMalformed, "shared memory came that could shrink while it is read"};
  }
  if (file.st_size < 0 || static_cast<std::uint64_t>(file.st_size) < bytes) {
    return {Code::kMalformed,
            fmt::format("shared memory of {} bytes came, said to be {}", file.st_size, bytes)};
  }
  return {};
}

}  // namespace stretto::shm
