// SPDX-License-Identifier: Apache-2.0
// WindowedMax: the maximum of recent values, in two numbers.
#pragma once

#include <algorithm>

#include "stretto/types.h"

namespace stretto {

/// The maximum of the values of the last one to two `spans`. Thread: loop.
class WindowedMax {
 public:
  explicit WindowedMax(Duration span) : span_(span) {}

  void add(double value, Time now) {
    if (now - since_ >= span_) {
      before_ = now - since_ >= 2 * span_ ? value : now_;
      now_ = value;
      since_ = now;
    }
    now_ = std::max(now_, value);
  }
  double get() const { return std::max(now_, before_); }

 private:
  Duration span_;
  Time since_ = {};
  double now_ = 0;
  double before_ = 0;
};

}  // namespace stretto
