// SPDX-License-Identifier: Apache-2.0
// Continues incomplete reads; an empty read means the file's end.
#include "input/io/read_requests.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stretto::input {
namespace {

// User errors, and failures of the system.
Code code_of(int error) {
  switch (error) {
    case ENOENT:
    case EACCES:
    case EPERM:
    case EISDIR:
    case ENOTDIR:
      return Code::kInvalidArgument;
    default:
      return Code::kResource;
  }
}

}  // namespace

Extent ReadRequests::aligned(Extent extent) const {
  if (!direct_) return extent;
  const std::uint64_t start = extent.offset / kAlignment * kAlignment;
  const std::uint64_t end =
      (extent.offset + extent.bytes + kAlignment - 1) / kAlignment * kAlignment;
  return {start, end - start};
}

void ReadRequests::want(std::uint64_t tag, std::shared_ptr<OpenFile> file, Extent extent,
                        Buffer buffer, std::uint32_t piece_bytes) {
  Range range{.file = std::move(file),
              .extent = extent,
              .read = aligned(extent),
              .buffer = std::move(buffer),
              .open = 0,
              .status = {}};
  const std::uint64_t end = range.read.offset + range.read.bytes;
  for (std::uint64_t at = range.read.offset; at < end; at += piece_bytes) {
    const std::uint64_t bytes = std::min<std::uint64_t>(piece_bytes, end - at);
    waiting_.push_back({.range = tag, .extent = {at, bytes}, .tries = 0, .begun = {}});
    ++range.open;
  }
  ranges_.emplace(tag, std::move(range));
}

void ReadRequests::submit(std::uint32_t depth) {
  while (in_flight_ < std::min(depth, kMostDepth) && !waiting_.empty()) {
    Piece piece = waiting_.front();
    waiting_.pop_front();
    piece.begun = clock_.now();
    Range& range = ranges_.at(piece.range);
    auto* memory = const_cast<std::byte*>(range.buffer.data());  // Ours: without readers so far.
    backend_.submit({.tag = next_piece_,
                     .file = range.file,
                     .offset = piece.extent.offset,
                     .into = {memory + (piece.extent.offset - range.read.offset),
                              static_cast<std::size_t>(piece.extent.bytes)}});
    pieces_.emplace(next_piece_++, piece);
    ++in_flight_;
  }
}

void ReadRequests::wait(Time deadline, std::vector<Fetched>& fetched) {
  backend_.wait(deadline, done_);
  for (const Done& done : done_) on_done(done, fetched);
  done_.clear();
}

// Whether the piece must continue, and from where; or why it cannot.
bool ReadRequests::goes_on(const Range& range, Piece& piece, const Done& done,
                           Status& status) const {
  const std::string& path = range.file->path();
  if (done.error != 0) {
    if (piece.tries++ < retries_) return true;
    status = {code_of(done.error),
              fmt::format("cannot read '{}' at offset {}: wanted {} bytes: {}", path,
                          piece.extent.offset, piece.extent.bytes, std::strerror(done.error))};
    return false;
  }
  const std::uint64_t wanted_end =
      std::min(piece.extent.offset + piece.extent.bytes, range.extent.offset + range.extent.bytes);
  if (piece.extent.offset + done.bytes >= wanted_end) return false;
  const std::uint64_t whole = direct_ ? done.bytes / kAlignment * kAlignment : done.bytes;
  if (whole == 0) {
    status = {Code::kMalformed,
              fmt::format(
                  "cannot read '{}' at offset {}: wanted {} bytes, but the file ends at {}; "
                  "it has become shorter since the reader was opened",
                  path, range.extent.offset, range.extent.bytes, piece.extent.offset + done.bytes)};
    return false;
  }
  piece.extent = {piece.extent.offset + whole, piece.extent.bytes - whole};
  return true;
}

void ReadRequests::on_done(const Done& done, std::vector<Fetched>& fetched) {
  const auto found = pieces_.find(done.tag);
  Piece piece = found->second;
  pieces_.erase(found);
  --in_flight_;
  meter_.request(clock_.now() - piece.begun);
  Range& range = ranges_.at(piece.range);
  Status status;
  if (goes_on(range, piece, done, status)) {
    waiting_.push_front(piece);
    return;
  }
  if (range.status.ok()) range.status = std::move(status);
  if (--range.open > 0) return;
  fetched.push_back({.tag = piece.range,
                     .buffer = std::move(range.buffer),
                     .start = range.read.offset,
                     .status = std::move(range.status)});
  ranges_.erase(piece.range);
}

}  // namespace stretto::input
