// SPDX-License-Identifier: Apache-2.0
// Changes of a modelled device, to see how long a tuner takes to find its way again. Pure.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/io_device.h"

namespace stretto::bench {

struct DeviceChange {
  std::string name;
  DeviceModel before;
  DeviceModel after;
};

/// First those in which one property changes fourfold, then those into a device of another kind.
std::vector<DeviceChange> device_changes();

}  // namespace stretto::bench
