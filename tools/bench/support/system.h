// SPDX-License-Identifier: Apache-2.0
// Pipes, and errors of system calls.
#pragma once

#include <fcntl.h>
#include <fmt/core.h>
#include <string.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "common/descriptor.h"
#include "stretto/status.h"

namespace stretto::bench {

/// "WHAT: reason", by errno.
inline Status refused(Code code, std::string_view what) {
  return {code, fmt::format("{}: {}", what, ::strerror(errno))};
}

/// A pipe that programs do not inherit.
struct Pipe {
  Descriptor read;
  Descriptor write;

  static Result<Pipe> open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return refused(Code::kResource, "no pipe");
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  }
};

/// A copy that programs inherit. Programs started by stretto-launch may use lower numbers.
inline Descriptor inheritable(const Descriptor& descriptor) {
  constexpr int kLeast = 100;
  return Descriptor(::fcntl(descriptor.get(), F_DUPFD, kLeast));
}

}  // namespace stretto::bench
