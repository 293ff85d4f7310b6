// SPDX-License-Identifier: Apache-2.0
// Downlink: divides this host's receive rate among its senders, so that the queue in front of it is
// bounded for any number of senders. Grants by the receiver are the idea of ExpressPass (Cho et
// al., SIGCOMM 2017) and Homa (Montazeri et al., SIGCOMM 2018); here a grant is a window.
#pragma once

#include <cstdint>
#include <map>

#include "common/windowed_max.h"
#include "van/transport/transport.h"

namespace stretto {

/// Thread: loop. Pure.
class Downlink {
 public:
  /// `bytes` of data have arrived from another host.
  void on_data(LinkId link, std::uint64_t bytes, Time now);
  void remove(LinkId link) { last_.erase(link); }
  /// The window in bytes for each sender now; 0: no limit, since fewer than two hosts send or the
  /// rate is unknown.
  std::uint64_t grant(Time now);

 private:
  std::map<LinkId, Time> last_;  // Last arrival of data.
  WindowedMax rate_{std::chrono::seconds(1)};
  Time since_ = {};  // Start of an interval of the rate.
  std::uint64_t bytes_ = 0;
  Time counted_at_ = {};
  std::size_t senders_ = 0;
};

}  // namespace stretto
