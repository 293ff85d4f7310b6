// SPDX-License-Identifier: Apache-2.0
// Reference counts of addresses.
#include "van/fabric/address_vector.h"

#include "common/check.h"

namespace stretto::fabric {

Result<fi_addr_t> AddressVector::join(FabricEndpoint& endpoint, const std::string& name) {
  auto found = peers_.find(name);
  if (found == peers_.end()) {
    const Result<fi_addr_t> address = endpoint.insert(name);
    if (!address.ok()) return address.status();
    found = peers_.emplace(name, Peer{.address = *address}).first;
  }
  ++found->second.links;
  ++links_;
  return found->second.address;
}

void AddressVector::leave(FabricEndpoint& endpoint, const std::string& name) {
  const auto found = peers_.find(name);
  STRETTO_CHECK(found != peers_.end() && links_ > 0);
  --links_;
  if (--found->second.links > 0) return;
  endpoint.remove(found->second.address);
  peers_.erase(found);
}

void AddressVector::clear() {
  peers_.clear();
  links_ = 0;
}

}  // namespace stretto::fabric
