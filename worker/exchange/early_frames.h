// SPDX-License-Identifier: Apache-2.0
// EarlyFrames: frames that arrive over one of the links between two workers before all of them are
// open here. The peer may have opened them half a round trip earlier.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "common/memory/buffer.h"
#include "van/control/control.h"
#include "van/engine/van.h"
#include "van/wire/header.h"

namespace stretto {

/// Thread: loop.
class EarlyFrames {
 public:
  /// Limit for one worker: more than its links can deliver in half a round trip.
  static constexpr std::uint64_t kMostBytes = 128 << 20;
  /// What a frame counts for in addition to its payload.
  static constexpr std::uint64_t kFrameBytes = 256;

  struct Data {
    wire::Header header;
    Buffer payload;
  };
  struct Frame {
    LinkId link = 0;
    std::variant<control::Message, Data> what;
  };

  /// False if this worker's frames exceed the limit: its links must be closed.
  bool keep(NodeId from, Frame frame) {
    const auto* data = std::get_if<Data>(&frame.what);
    Kept& kept = kept_[from];
    kept.bytes += kFrameBytes + (data == nullptr ? 0 : data->payload.size());
    if (kept.bytes > kMostBytes) {
      kept.frames.clear();
      return false;
    }
    kept.frames.push_back(std::move(frame));
    return true;
  }
  /// Takes the frames of workers for which `is_due` holds, given the worker and the link of its
  /// first frame; each worker's in the order of arrival.
  template <typename IsDue>
  std::vector<Frame> take(const IsDue& is_due) {
    std::vector<Frame> taken;
    for (auto at = kept_.begin(); at != kept_.end();) {
      const std::vector<Frame>& frames = at->second.frames;
      if (frames.empty() || !is_due(at->first, frames.front().link)) {
        ++at;
        continue;
      }
      for (Frame& frame : at->second.frames) taken.push_back(std::move(frame));
      at = kept_.erase(at);
    }
    return taken;
  }
  /// The worker has no links any more.
  void forget(NodeId from) { kept_.erase(from); }

 private:
  struct Kept {
    std::vector<Frame> frames;
    std::uint64_t bytes = 0;
  };
  std::map<NodeId, Kept> kept_;
};

}  // namespace stretto
