// SPDX-License-Identifier: Apache-2.0
// The composite transport: several transports as one; it chooses one for each link. The first part
// reaches all hosts (TCP); the others are faster but reach only some (shared memory). An endpoint's
// address lists all of its transports (common/network/address.h). The connecting end takes the
// first transport that works.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "van/transport/transport.h"

namespace stretto {

/// A faster transport that reaches only some peers. Thread: loop.
struct Way {
  std::string name;  ///< Its name in addresses: "shm" of ";shm=...".
  std::unique_ptr<Transport> transport;
  /// Connects to the part of the address after "name=". If this transport does not reach it, an
  /// immediate error; then the next is tried.
  std::function<Result<LinkId>(std::string_view where)> reach;
  /// Listens; returns the "where" for the address. An empty argument picks any.
  std::function<Result<std::string>(std::string_view where)> listen;
};

struct CompositeOptions {
  /// The only way that may be used, by name: a link that it does not reach is an error. Empty: any.
  std::string required_way;
  /// Except that this address is reached without it.
  std::string exempt_address;
};

/// `everywhere` listens and connects at host:port. Ways are tried in order. All of them must have a
/// descriptor.
Result<std::unique_ptr<Transport>> make_composite_transport(std::unique_ptr<Transport> everywhere,
                                                            std::vector<Way> ways,
                                                            CompositeOptions options);

}  // namespace stretto
