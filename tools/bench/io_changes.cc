// SPDX-License-Identifier: Apache-2.0
// The changes that docs/INPUT_TUNING.md tells of.
#include "tools/bench/io_changes.h"

namespace stretto::bench {

std::vector<DeviceChange> device_changes() {
  const auto kind = [](std::string_view name) { return *find_device_model(name); };
  DeviceModel far = kind("network");
  far.round_trip_s *= 4;
  DeviceModel narrow = kind("network");
  narrow.link_bytes_per_s /= 4;
  const auto slower = [](DeviceModel model) {
    model.piece_s *= 4;
    model.channel_bytes_per_s /= 4;
    return model;
  };
  DeviceModel touchy = kind("saturating");
  touchy.comfortable /= 3;
  return {{"network, four times as far", kind("network"), far},
          {"network, near again", far, kind("network")},
          {"network, a quarter of the link", kind("network"), narrow},
          {"nvme, flash four times as slow", kind("nvme"), slower(kind("nvme"))},
          {"noisy, four times as slow", kind("noisy"), slower(kind("noisy"))},
          {"saturating, at a third of the requests", kind("saturating"), touchy},
          {"sata to network", kind("sata"), kind("network")},
          {"network to sata", kind("network"), kind("sata")},
          {"sata to one_channel", kind("sata"), kind("one_channel")},
          {"sata to saturating", kind("sata"), kind("saturating")},
          {"cloud to network", kind("cloud"), kind("network")}};
}

}  // namespace stretto::bench
