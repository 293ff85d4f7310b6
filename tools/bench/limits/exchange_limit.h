// SPDX-License-Identifier: Apache-2.0
// What an exchange is held against, measured by turns with it: copies in shared memory, libzmq, or
// the links of a lab.
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
  /// Once more.
  virtual Status measure() = 0;
  /// What has been measured of the fastest way; what is not known of it is no number.
  virtual std::vector<Rates> best() const = 0;
};

/// "tcp", "auto" and so on.
std::string transport_of(const Settings& settings);

/// "raw_zmq", "shm_copies", "links"; "none" where there is none: nothing has the shape of an
/// exchange among workers but the links of a lab.
std::string_view limit_name(const Settings& settings);
/// What it is made of, for people.
std::string_view limit_described(const Settings& settings);

/// Of tensors of so many bytes, in this job; the lab, null if there is none, outlives it.
std::unique_ptr<ExchangeLimit> make_limit(const Settings& settings, const JobSettings& job,
                                          std::uint64_t bytes, const Netlab* lab);

/// At which rate a tensor passes the links of these hosts, in their unit: the least of what each
/// host sends and receives bounds it, and with kAuto, where that is not the same for all, what all
/// send together. Workers of a host are one among workers. No number where nothing passes. Pure.
double link_bound(Exchange exchange, const std::vector<LabHost>& hosts);

}  // namespace stretto::bench
