// SPDX-License-Identifier: Apache-2.0
// ReadRequests: queued reads and reads in flight. It reads a range of a file completely, in pieces
// of the read size, and retries short reads and transient errors.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "common/clock.h"
#include "common/memory/buffer.h"
#include "input/formats/byte_source.h"
#include "input/io/backend.h"
#include "input/io/meter.h"

namespace stretto::input {

/// A range of a file that was read, or its error.
struct Fetched {
  std::uint64_t tag = 0;
  Buffer buffer;
  std::uint64_t start = 0;  ///< Offset in the file of the buffer's first byte.
  Status status;            ///< Names file and offset.
};

/// Thread: loop.
class ReadRequests {
 public:
  ReadRequests(Backend& backend, const Clock& clock, Meter& meter, std::uint32_t retries,
               bool direct)
      : backend_(backend), clock_(clock), meter_(meter), retries_(retries), direct_(direct) {}

  /// Memory for a range: O_DIRECT extends it to whole blocks at both ends.
  std::size_t bytes_for(Extent extent) const { return aligned(extent).bytes; }
  /// Queues a range for reading in pieces into `buffer`, of at least bytes_for(extent) bytes.
  void want(std::uint64_t tag, std::shared_ptr<OpenFile> file, Extent extent, Buffer buffer,
            std::uint32_t piece_bytes);
  /// Submits pieces to the backend, up to `depth` in flight.
  void submit(std::uint32_t depth);
  void flush() { backend_.flush(); }
  bool any_waiting() const { return !waiting_.empty(); }
  std::uint32_t in_flight() const { return in_flight_; }
  /// Waits, and appends the finished ranges.
  void wait(Time deadline, std::vector<Fetched>& fetched);

 private:
  struct Range {
    std::shared_ptr<OpenFile> file;
    Extent extent;
    Extent read;  // Aligned for O_DIRECT.
    Buffer buffer;
    std::uint32_t open = 0;  // Unfinished pieces.
    Status status;
  };
  struct Piece {
    std::uint64_t range = 0;
    Extent extent;
    std::uint32_t tries = 0;
    Time begun;
  };

  Extent aligned(Extent extent) const;
  void on_done(const Done& done, std::vector<Fetched>& fetched);
  bool goes_on(const Range& range, Piece& piece, const Done& done, Status& status) const;

  Backend& backend_;
  const Clock& clock_;
  Meter& meter_;
  const std::uint32_t retries_;
  const bool direct_;
  std::uint64_t next_piece_ = 0;
  std::uint32_t in_flight_ = 0;
  std::deque<Piece> waiting_;
  std::unordered_map<std::uint64_t, Piece> pieces_;
  std::unordered_map<std::uint64_t, Range> ranges_;
  std::vector<Done> done_;
};

}  // namespace stretto::input
