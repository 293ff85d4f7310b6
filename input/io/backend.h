// SPDX-License-Identifier: Apache-2.0
// Backend: asynchronous reads from files into memory, many at a time. All backends pass one test
// suite; the engine decides the order of reads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "input/io/open_file.h"
#include "stretto/input.h"

namespace stretto::input {

/// One read. `into` must exist until it has ended; with O_DIRECT, it and `offset` are aligned.
struct ReadRequest {
  std::uint64_t tag = 0;
  std::shared_ptr<OpenFile> file;
  std::uint64_t offset = 0;
  std::span<std::byte> into;
};

/// The end of a read.
struct Done {
  std::uint64_t tag = 0;
  int error = 0;  ///< errno; 0: success.
  std::size_t bytes =
      0;  ///< Possibly fewer than requested, as the system returns; 0 at the file's end.
};

/// Most reads that may be in flight.
inline constexpr std::uint32_t kMostDepth = 256;

/// Thread: loop; wake(): any. The destructor waits for reads in flight.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Queues a read, which starts at flush() or wait() at the latest. At most kMostDepth may be in
  /// flight.
  virtual void submit(ReadRequest request) = 0;
  virtual void flush() {}
  /// Appends completed reads. Waits for a completion, for wake(), or until the deadline.
  virtual void wait(Time deadline, std::vector<Done>& done) = 0;
  /// Ends the current wait or the next one.
  virtual void wake() = 0;
};

/// io_uring; kUnsupported if this build lacks it, or if the kernel or its policy refuse it.
Result<std::unique_ptr<Backend>> open_uring();
/// pread in a pool of threads.
std::unique_ptr<Backend> open_threads();
/// The backend for the method; kAuto: the first available of the two.
Result<std::unique_ptr<Backend>> open_backend(Method method);

}  // namespace stretto::input
