// SPDX-License-Identifier: Apache-2.0
// Shared memory as a Way of a composite: its addresses without their scheme.
#include <fmt/core.h>

#include "van/shm/shm_transport.h"

namespace stretto {
namespace {

constexpr std::string_view kScheme = "shm:";

}  // namespace

Result<Way> shm_way(const ShmOptions& options) {
  Result<std::unique_ptr<ShmTransport>> made = make_shm_transport(options);
  if (!made.ok()) return made.status();
  Way way;
  way.name = "shm";
  ShmTransport* const transport = made->get();
  way.reach = [transport](std::string_view where) {
    return transport->reach(fmt::format("{}{}", kScheme, where));
  };
  way.listen = [transport](std::string_view where) -> Result<std::string> {
    Result<std::string> address = transport->listen(fmt::format("{}{}", kScheme, where));
    return address.ok() ? Result<std::string>(address->substr(kScheme.size())) : address;
  };
  way.transport = *std::move(made);
  return way;
}

}  // namespace stretto
