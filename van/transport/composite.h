// SPDX-License-Identifier: Apache-2.0
// The composite transport: several transports as one, which chooses for each link by itself. The
// first part goes everywhere (TCP); the others are better ways that reach only some (shared
// memory). An endpoint tells others all of its ways in one address (common/network/address.h), and
// who connects takes the first way that works.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "van/transport/transport.h"

namespace stretto {

/// A better way. Thread: loop.
struct Way {
  std::string name;  ///< As in addresses: "shm" of ";shm=...".
  std::unique_ptr<Transport> transport;
  /// Connects to what the address says after "name="; an error, at once, if this way does not lead
  /// there. Then the next is tried.
  std::function<Result<LinkId>(std::string_view where)> reach;
  /// Listens; what others are told as "where". The argument is empty: anywhere.
  std::function<Result<std::string>(std::string_view where)> listen;
};

struct CompositeOptions {
  /// Ways that may be the only one: a link that this way does not lead to is an error. Empty: none.
  std::string required_way;
  /// But this address is reached without it.
  std::string exempt_address;
};

/// `everywhere` listens and connects at host:port. Ways are tried in their order. All of them can
/// be waited for by descriptor.
Result<std::unique_ptr<Transport>> make_composite_transport(std::unique_ptr<Transport> everywhere,
                                                            std::vector<Way> ways,
                                                            CompositeOptions options);

}  // namespace stretto
