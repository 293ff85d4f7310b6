// SPDX-License-Identifier: Apache-2.0
// Backend: how bytes come from files into memory, many reads at a time. All of them pass one suite
// of tests; what is read when is not theirs to decide.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "input/io/open_file.h"
#include "stretto/input.h"

namespace stretto::input {

/// One read. `into` stays until it has ended; past the page cache, it and `offset` are aligned.
struct ReadRequest {
  std::uint64_t tag = 0;
  std::shared_ptr<OpenFile> file;
  std::uint64_t offset = 0;
  std::span<std::byte> into;
};

/// The end of a read.
struct Done {
  std::uint64_t tag = 0;
  int error = 0;  ///< errno; 0: it came well.
  std::size_t bytes =
      0;  ///< As the system gave them: perhaps fewer than wanted; 0 at the file's end.
};

/// Most reads that may be in flight.
inline constexpr std::uint32_t kMostDepth = 256;

/// Thread: loop, but wake(), which is for any. Destroying it waits for what is in flight.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Takes a read, which begins at flush() or wait() if not before. At most kMostDepth are under
  /// way.
  virtual void submit(ReadRequest request) = 0;
  virtual void flush() {}
  /// Appends the reads that have ended. Waits for one, for wake() or until the deadline.
  virtual void wait(Time deadline, std::vector<Done>& done) = 0;
  /// Ends a wait, this one or the next.
  virtual void wake() = 0;
};

/// io_uring; kUnsupported if it is not in this build, or if the kernel or its policy refuse it.
Result<std::unique_ptr<Backend>> open_uring();
/// pread in a pool of threads.
std::unique_ptr<Backend> open_threads();
/// What the method says; kAuto: the first of both that is there.
Result<std::unique_ptr<Backend>> open_backend(Method method);

}  // namespace stretto::input
