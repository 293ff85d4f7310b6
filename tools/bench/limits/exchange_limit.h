// SPDX-License-Identifier: Apache-2.0
// The limit of an exchange, measured alternately with it: copies in shared memory, libzmq, or the
// links of a lab.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "common/config/config.h"
#include "tools/bench/settings/lab_hosts.h"
#include "tools/bench/settings/settings.h"
#include "tools/bench/support/netlab.h"
#include "tools/bench/support/report.h"

namespace stretto::bench {

class ExchangeLimit {
 public:
  virtual ~ExchangeLimit() = default;
  /// Measures once more.
  virtual Status measure() = 0;
  /// The results of the fastest variant so far; NaN for unknown values.
  virtual std::vector<Rates> best() const = 0;
};

/// "tcp", "auto" and so on.
std::string transport_of(const Settings& settings);

/// "raw_zmq", "shm_copies", "links" or "none": an exchange among workers has no limit except the
/// links of a lab.
std::string_view limit_name(const Settings& settings);
/// A description of the limit for users.
std::string_view limit_described(const Settings& settings);

/// The limit for tensors of `bytes` bytes in this job. The lab must outlive it; null: no lab.
std::unique_ptr<ExchangeLimit> make_limit(const Settings& settings, const JobSettings& job,
                                          std::uint64_t bytes, const Netlab* lab);

/// The rate at which a tensor can pass the links of these hosts, in their unit. The slowest
/// direction of a host bounds it; with kAuto and unequal hosts also the sum of all sends. Workers
/// of one host count as one among workers. NaN if nothing passes. Pure.
double link_bound(Exchange exchange, const std::vector<LabHost>& hosts);

}  // namespace stretto::bench
