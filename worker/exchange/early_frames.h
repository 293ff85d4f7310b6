// SPDX-License-Identifier: Apache-2.0
// EarlyFrames: what comes over one of the links between two workers while others of them are yet to
// open here. The far end may have all of them open half a round trip earlier.
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
  /// Of one worker: more than its links can bring in half a round trip.
  static constexpr std::uint64_t kMostBytes = 128 << 20;
  /// What one counts for besides its payload.
  static constexpr std::uint64_t kFrameBytes = 256;

  struct Data {
    wire::Header header;
    Buffer payload;
  };
  struct Frame {
    LinkId link = 0;
    std::variant<control::Message, Data> what;
  };

  /// False if there is too much of this worker's: it has to go.
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
  /// Those of the workers of whom `is_due` says so, by the link of the first too; each one's in the
  /// order in which they came.
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
  /// It has no links any more.
  void forget(NodeId from) { kept_.erase(from); }

 private:
  struct Kept {
    std::vector<Frame> frames;
    std::uint64_t bytes = 0;
  };
  std::map<NodeId, Kept> kept_;
};

}  // namespace stretto
