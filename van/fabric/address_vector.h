// SPDX-License-Identifier: Apache-2.0
// AddressVector: the peers that the endpoint knows, each once for any number of links.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "van/fabric/endpoint.h"

namespace stretto::fabric {

/// Thread: loop.
class AddressVector {
 public:
  /// Adds a link to the endpoint of this name, which is untrusted.
  Result<fi_addr_t> join(FabricEndpoint& endpoint, const std::string& name);
  /// Removes a link.
  void leave(FabricEndpoint& endpoint, const std::string& name);
  /// Links to the endpoint of this name.
  std::size_t links_to(const std::string& name) const {
    const auto found = peers_.find(name);
    return found == peers_.end() ? 0 : found->second.links;
  }
  /// Links to any endpoint.
  std::size_t links() const { return links_; }
  /// Resets after the endpoint has been closed.
  void clear();

 private:
  struct Peer {
    fi_addr_t address = FI_ADDR_UNSPEC;
    std::size_t links = 0;
  };

  std::map<std::string, Peer> peers_;
  std::size_t links_ = 0;
};

}  // namespace stretto::fabric
