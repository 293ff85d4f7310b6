// SPDX-License-Identifier: Apache-2.0
// ReadRequests: the reads that are in flight, and those that wait for their turn. It makes a range
// of a file come whole, out of pieces of the read size, over short reads and errors that pass.
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

/// A range of a file that was read, or why not.
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

  /// Memory that a range takes up: with O_DIRECT it grows to whole blocks at both ends.
  std::size_t bytes_for(Extent extent) const { return aligned(extent).bytes; }
  /// Wants a range read into `buffer`, which has bytes_for(extent) bytes at least, in pieces.
  void want(std::uint64_t tag, std::shared_ptr<OpenFile> file, Extent extent, Buffer buffer,
            std::uint32_t piece_bytes);
  /// Submits to the backend as many as `depth` allows.
  void submit(std::uint32_t depth);
  void flush() { backend_.flush(); }
  bool any_waiting() const { return !waiting_.empty(); }
  std::uint32_t in_flight() const { return in_flight_; }
  /// Waits, and appends the ranges that have ended.
  void wait(Time deadline, std::vector<Fetched>& fetched);

 private:
  struct Range {
    std::shared_ptr<OpenFile> file;
    Extent extent;
    Extent read;  // Aligned, if that is wanted.
    Buffer buffer;
    std::uint32_t open = 0;  // Pieces.
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
