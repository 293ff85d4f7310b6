// SPDX-License-Identifier: Apache-2.0
// FrameIndex: the frames that wait, on whichever link. It knows which are of one tag, so that
// who changes its mind about an operation looks at that operation's frames and at no others; and it
// keeps the memory of those that have gone, since small frames come and go by the hundred thousand
// a second.
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
  /// A frame that waits from now on, in a lane of its own from which it can be moved to another.
  /// With tag 0 it is nobody's.
  FrameList add(Frame&& frame);
  /// Drops a frame of this lane, and its payload with it.
  void drop(FrameList& from, FrameList::iterator frame);

  /// Calls `visit(FrameList::iterator)` for those of one tag, in the order in which they were
  /// queued. It may move or drop the frame that it is called for.
  template <typename Visit>
  void for_each(std::uint64_t tag, const Visit& visit);
  template <typename Visit>
  void for_each(std::uint64_t tag, const Visit& visit) const;

  /// How many wait.
  std::size_t size() const { return size_; }
  /// How many for_each() has looked at so far.
  std::uint64_t visits() const { return visits_; }

 private:
  using Places = std::list<FrameList::iterator>;
  using Tags = std::unordered_map<std::uint64_t, Places>;
  static constexpr std::size_t kMostKept = 4096;  // Frames that have gone, and their places.

  void note(FrameList::iterator frame);
  void forget(FrameList::iterator frame);

  Tags tags_;       // None is empty.
  FrameList gone_;  // Memory for those to come.
  Places gone_places_;
  Tags::node_type gone_tag_;
  std::size_t size_ = 0;
  mutable std::uint64_t visits_ = 0;
};

template <typename Visit>
void FrameIndex::for_each(std::uint64_t tag, const Visit& visit) {
  const auto found = tags_.find(tag);
  if (found == tags_.end()) return;
  // The last visit may be the end of the entry, so the frames are counted beforehand.
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
