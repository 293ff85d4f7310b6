// SPDX-License-Identifier: Apache-2.0
// Watch: epoll over the descriptors of others, and an eventfd to be woken by. For transports that
// wait for descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

namespace stretto {

/// "wanted X: Too many open files" as a Status: Resource if something has run out, else Network.
Status failure(const std::string& wanted, int error);

/// An open file descriptor. Thread: any (a value).
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int get() const { return number_; }
  bool is_open() const { return number_ >= 0; }

 private:
  int number_ = -1;
};

/// Thread: loop, but for wake().
class Watch {
 public:
  Status open();
  /// `token` says later which descriptor it was; not zero.
  Status add(int descriptor, std::uint64_t token);
  void remove(int descriptor);
  /// The tokens of some readable descriptors; none if `wait` has passed. Valid until the next call.
  /// `woken` becomes true if wake() was called.
  const std::vector<std::uint64_t>& wait(Duration wait, bool& woken);
  /// Makes a wait, or the next one, return. Thread: any.
  void wake();
  /// Readable when wait() would find something.
  int descriptor() const { return epoll_.get(); }

 private:
  Descriptor epoll_;
  Descriptor wake_;
  std::vector<std::uint64_t> tokens_;
};

}  // namespace stretto
