// SPDX-License-Identifier: Apache-2.0
// KeepAlives: a few empty-handed messages after the last frame of a link. By their bytes the far
// end learns that a frame before them has not come whole (ReceiveProgress).
#pragma once

namespace stretto::zmq {

/// Of one link. Pure. Thread: loop.
class KeepAlives {
 public:
  void note_frame() { left_ = kAfterFrames; }
  /// Asked at each look at the path: true if one should leave now.
  bool take() {
    if (left_ == 0) return false;
    --left_;
    return true;
  }

 private:
  // Both ends look equally often, so the far end looks between two of them.
  static constexpr int kAfterFrames = 4;
  int left_ = 0;
};

}  // namespace stretto::zmq
