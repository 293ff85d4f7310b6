// SPDX-License-Identifier: Apache-2.0
// FrameIndex: the queued frames of all links. It indexes them by tag, so that steering an operation
// visits only its own frames. It also recycles the memory of sent frames, since small frames come
// and go at hundreds of thousands a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <unordered_map>

#include "van/queue/frame_list.h"

namespace stretto {

/// Thread: loop.
class FrameIndex {
 public:
  /// Adds a queued frame, in a list of its own, from which it can be moved to a lane. Tag 0 belongs
  /// to no operation.
  FrameList add(Frame&& frame);
  /// Drops a frame of this lane, and its payload.
  void drop(FrameList& from, FrameList::iterator frame);

  /// Calls `visit(FrameList::iterator)` for the frames of a tag, in order of queueing. It may move
  /// or drop the visited frame.
  template <typename Visit>
  void for_each(std::uint64_t tag, const Visit& visit);
  template <typename Visit>
  void for_each(std::uint64_t tag, const Visit& visit) const;

  /// Number of queued frames.
  std::size_t size() const { return size_; }
  /// Number of for_each() visits so far.
  std::uint64_t visits() const { return visits_; }

 private:
  using Places = std::list<FrameList::iterator>;
  using Tags = std::unordered_map<std::uint64_t, Places>;
  static constexpr std::size_t kMostKept = 4096;  // Recycled frames and entries.

  void note(FrameList::iterator frame);
  void forget(FrameList::iterator frame);

  Tags tags_;       // No list is empty.
  FrameList gone_;  // Recycled memory.
  Places gone_places_;
  Tags::node_type gone_tag_;
  std::size_t size_ = 0;
  mutable std::uint64_t visits_ = 0;
};

template <typename Visit>
void FrameIndex::for_each(std::uint64_t tag, const Visit& visit) {
  const auto found = tags_.find(tag);
  if (found == tags_.end()) return;
  // The last visit may remove the tag's entry, so the frames are counted first.
  auto next = found->second.begin();
  for (std::size_t left = found->second.size(); left > 0; --left) {
    const FrameList::iterator frame = *next++;
    ++visits_;
    visit(frame);
  }
}

template <typename Visit>
void FrameIndex::for_each(std::uint64_t tag, const Visit& visit) const {
  const auto found = tags_.find(tag);
  if (found == tags_.end()) return;
  for (const FrameList::const_iterator frame : found->second) {
    ++visits_;
    visit(*frame);
  }
}

}  // namespace stretto
