// SPDX-License-Identifier: Apache-2.0
// Previous members send pieces in turn to the joining workers, until no worker lacks any.
#include "stretto/step_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace stretto {
namespace {

constexpr std::size_t kStatePieceBytes = std::size_t{4} << 20;
constexpr std::size_t kWindow = 8;  // Pieces in flight.
constexpr std::string_view kLabel = "StepState";

struct Piece {
  Tensor tensor;
  std::vector<std::byte> bytes;
  Ticket ticket;
};

// FNV-1a: tells programs apart, not adversaries.
std::uint64_t mixed(std::uint64_t sum, std::string_view text) {
  for (const char each : text) {
    sum = (sum ^ static_cast<unsigned char>(each)) * std::uint64_t{1099511628211};
  }
  return sum;
}

}  // namespace

/// Counts of workers: those that lack state, joining workers, and previous members.
struct StepState::Presence {
  std::int64_t lacking = 0;
  std::int64_t newcomers = 0;
  std::int64_t members = 0;
};

void StepState::add_bytes(std::string_view name, std::span<std::byte> memory) {
  memories_.push_back({std::string(name), memory});
}

std::size_t StepState::total() const {
  std::size_t bytes = 0;
  for (const Memory& memory : memories_) bytes += memory.bytes.size();
  return bytes;
}

Result<StepBegin> StepState::next() {
  Result<StepBegin> begins = steps_.next();
  if (!begins.ok() || begins->newcomers == 0) return begins;
  if (Status brought = bring(*begins); !brought.ok()) {
    return std::move(brought).with_operation("next step");
  }
  return begins;
}

// Joining workers have the last ranks. Workers may learn of a loss at different times, and assign
// pieces differently: a piece with no sender, or with two, is requested again.
Status StepState::bring(const StepBegin& begins) {
  bool lacks = begins.comes_in;
  std::uint32_t newcomers = begins.newcomers;
  for (;;) {
    const std::uint32_t size = worker_->size();
    const Result<bool> whole = transfer(lacks, size - std::min(size, newcomers));
    if (!whole.ok()) return whole.status();
    lacks = lacks && !*whole;
    const Result<Presence> here = look(lacks, begins.comes_in);
    if (!here.ok()) return here.status();
    if (here->lacking == 0) return {};
    if (here->members == 0) {
      return {Code::kPeerLost,
              "nobody is left who has the state: those who had it were lost while others came into "
              "the job"};
    }
    newcomers = static_cast<std::uint32_t>(here->newcomers);
  }
}

Result<StepState::Presence> StepState::look(bool lacks, bool comes_in) {
  const Result<Tensor> tensor =
      worker_->declare(fmt::format("{}.presence", kLabel), Dtype::kI64, 3);
  if (!tensor.ok()) return tensor.status();
  std::array<std::int64_t, 3> counts = {lacks ? 1 : 0, comes_in ? 1 : 0, comes_in ? 0 : 1};
  Status status = worker_
                      ->push_pull(*tensor, std::as_bytes(std::span(counts)),
                                  std::as_writable_bytes(std::span(counts)))
                      .wait();
  if (!status.ok()) return status;
  return Presence{.lacking = counts[0], .newcomers = counts[1], .members = counts[2]};
}

// True if every piece has arrived.
Result<bool> StepState::transfer(bool lacks, std::uint32_t givers) {
  Result<bool> whole = compare(lacks, worker_->rank() == 0 && givers > 0);
  const std::size_t pieces = (total() + kStatePieceBytes - 1) / kStatePieceBytes;
  for (std::size_t first = 0; first < pieces && whole.ok(); first += kWindow) {
    const Result<bool> more =
        exchange_window(first, std::min(first + kWindow, pieces), lacks, givers);
    whole = more.ok() ? Result<bool>(*whole && *more) : more;
  }
  return whole;
}

// Whether the senders have the same memory as this worker. Also true where that does not matter.
Result<bool> StepState::compare(bool lacks, bool gives) {
  const Result<Tensor> tensor = worker_->declare(fmt::format("{}.facts", kLabel), Dtype::kI64, 1);
  if (!tensor.ok()) return tensor.status();
  std::uint64_t mine = 14695981039346656037U;
  for (const Memory& memory : memories_) {
    mine = mixed(mine, fmt::format("{}:{}\n", memory.name, memory.bytes.size()));
  }
  std::uint64_t theirs = mine;
  const auto place = std::as_writable_bytes(std::span(&theirs, 1));
  const Ticket ticket = gives ? worker_->push(*tensor, place)
                              : steps_.listen(*tensor, lacks ? place : std::span<std::byte>());
  if (Status status = ticket.wait(); !status.ok()) return status;
  if (!lacks) return true;
  if (ticket.info().contributors != 1) return false;
  if (theirs == mine) return true;
  return Status(
      Code::kMismatch,
      fmt::format("this worker comes into a job whose program has added other memory to "
                  "its StepState than these {} of {} bytes in all; start the same program",
                  memories_.size(), total()));
}

Result<bool> StepState::exchange_window(std::size_t first, std::size_t last, bool lacks,
                                        std::uint32_t givers) {
  std::vector<Piece> pieces(last - first);
  for (std::size_t i = first; i < last; ++i) {
    Piece& piece = pieces[i - first];
    const std::size_t size = std::min(kStatePieceBytes, total() - i * kStatePieceBytes);
    const Result<Tensor> tensor = worker_->declare(
        fmt::format("{}.{}.{}", kLabel, size, i % kWindow), Dtype::kU8, size, {.bulk = true});
    if (!tensor.ok()) return tensor.status();
    piece.tensor = *tensor;
    const bool gives = !lacks && givers > 0 && worker_->rank() == i % givers;
    if (lacks || gives) piece.bytes.resize(size);
    if (gives) copy(i * kStatePieceBytes, piece.bytes, false);
  }
  for (std::size_t i = first; i < last; ++i) {
    Piece& piece = pieces[i - first];
    const bool gives = !lacks && !piece.bytes.empty();
    piece.ticket = gives ? worker_->push(piece.tensor, std::span<const std::byte>(piece.bytes))
                         : steps_.listen(piece.tensor, piece.bytes);
  }
  Status failed;
  bool whole = true;
  for (std::size_t i = first; i < last; ++i) {
    const Piece& piece = pieces[i - first];
    if (Status status = piece.ticket.wait(); !status.ok()) failed = status;
    whole = whole && piece.ticket.info().contributors == 1;
  }
  if (!failed.ok()) return failed;
  for (std::size_t i = first; i < last && lacks && whole; ++i) {
    copy(i * kStatePieceBytes, pieces[i - first].bytes, true);
  }
  return whole;
}

// Copies between a piece and the memory from this byte on: into the memory if `out`.
void StepState::copy(std::size_t first, std::span<std::byte> piece, bool out) {
  for (const Memory& memory : memories_) {
    if (piece.empty()) return;
    if (first >= memory.bytes.size()) {
      first -= memory.bytes.size();
      continue;
    }
    const std::size_t size = std::min(piece.size(), memory.bytes.size() - first);
    const std::span<std::byte> place = memory.bytes.subspan(first, size);
    if (out) {
      std::memcpy(place.data(), piece.data(), size);
    } else {
      std::memcpy(piece.data(), place.data(), size);
    }
    piece = piece.subspan(size);
    first = 0;
  }
}

}  // namespace stretto
