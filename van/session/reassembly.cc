// SPDX-License-Identifier: Apache-2.0
// Copies slices to the frame's memory, often the user's own tensor.
#include "van/session/reassembly.h"

#include <fmt/core.h>

#include <cstring>

#include "van/wire/frame_views.h"

namespace stretto {

Status Reassembly::begin(const wire::Header& header, const Landing& landing,
                         const Allocate& allocate) {
  if (begun_.size() >= wire::kMaxBegun) {
    return {Code::kMalformed, fmt::format("{} frames were begun and not finished", begun_.size())};
  }
  if (header.total > wire::kMaxWholeBytes) {
    return {Code::kMalformed, fmt::format("a frame of {} bytes was begun, at most {} are taken",
                                          header.total, wire::kMaxWholeBytes)};
  }
  Begun begun{.header = header, .own = {}, .lands = false, .unwanted = false, .received = 0};
  begun.header.bytes = header.total;
  begun.header.total = 0;
  begun.lands = landing(begun.header).size() == header.total;
  if (!begun.lands) {
    begun.own = allocate(header.total);
    begun.unwanted = begun.own.size() != header.total;
    held_bytes_ += begun.own.size();
  }
  begun_.emplace(header.sequence, std::move(begun));
  return {};
}

Reassembly::Begun Reassembly::end(std::map<std::uint64_t, Begun>::iterator begun) {
  Begun ended = std::move(begun->second);
  held_bytes_ -= ended.own.size();
  begun_.erase(begun);
  return ended;
}

Result<std::optional<Reassembly::Whole>> Reassembly::take(const wire::Header& header,
                                                          const Buffer& slice,
                                                          const Landing& landing,
                                                          const Allocate& allocate) {
  const bool first = header.kind != wire::Kind::kMore;
  if (first) {
    if (Status status = begin(header, landing, allocate); !status.ok()) return status;
  }
  const std::uint64_t began =
      first ? header.sequence : wire::ContinuationFrame::of(header).first_sequence;
  const auto found = begun_.find(began);
  if (found == begun_.end()) {
    return Status(Code::kMalformed,
                  fmt::format("more came of frame {}, which was not begun", began));
  }
  Begun& begun = found->second;
  if ((header.flags & wire::kAbandoned) != 0) {
    end(found);
    return std::optional<Whole>();
  }
  if (header.offset != begun.received || header.total != begun.header.bytes) {
    return Status(Code::kMalformed,
                  fmt::format("a slice at {} of {} bytes came, wanted one at {} of {}",
                              header.offset, header.total, begun.received, begun.header.bytes));
  }
  std::span<std::byte> place;
  if (begun.lands) {
    place = landing(begun.header);
    begun.unwanted = begun.unwanted || place.size() != begun.header.bytes;
  } else if (!begun.unwanted) {
    place = begun.own.writable();
  }
  if (!begun.unwanted) std::memcpy(place.data() + header.offset, slice.data(), slice.size());
  begun.received += header.bytes;
  if (begun.received < begun.header.bytes) return std::optional<Whole>();
  Begun done = end(found);
  done.header.push_sequence = header.push_sequence;
  // The final urgency: it may have changed during the transfer.
  done.header.priority = header.priority;
  done.header.deadline = header.deadline;
  Whole whole{.header = done.header, .payload = std::move(done.own)};
  if (done.lands && !done.unwanted) whole.payload = Buffer::borrow(place, [] {});
  return std::optional<Whole>(std::move(whole));
}

}  // namespace stretto
