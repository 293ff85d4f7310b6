// SPDX-License-Identifier: Apache-2.0
// A file descriptor that is closed with its owner, and the kind that stands for a process.
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <utility>

namespace stretto::launch {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  int get() const { return number_; }
  bool open() const { return number_ >= 0; }
  void close() {
    if (open()) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

/// A pidfd: readable once the process has ended. By system call, as glibc 2.36 declares pidfd_open
/// for C alone. Not open, with errno set, where the kernel gives none; Linux 5.3 has them.
inline Descriptor process_handle(pid_t process_id) {
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process_id, 0)));
}

}  // namespace stretto::launch
