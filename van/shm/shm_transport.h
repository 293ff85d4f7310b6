// SPDX-License-Identifier: Apache-2.0
// The shared memory transport: frames between processes of one host. Addresses are names such as
// "shm:dGhpcyBpcyBhIG5h"; "shm:" asks for a new name.
//
//   auto server = make_shm_transport(ShmOptions{});
//   auto address = (*server)->listen("shm:");
//   auto worker = make_shm_transport(ShmOptions{});
//   auto link = (*worker)->connect(*address);
#pragma once

#include <memory>

#include "van/shm/options.h"
#include "van/transport/composite.h"

namespace stretto {

/// Thread: loop, but for wake().
class ShmTransport : public Transport {
 public:
  /// As connect(), but an immediate error if no listener at that address is reachable from here: it
  /// must be on this host, in this network namespace and of this user.
  virtual Result<LinkId> reach(std::string_view address) = 0;
  bool ends_with_process(LinkId) const override { return true; }
};

Result<std::unique_ptr<ShmTransport>> make_shm_transport(const ShmOptions& options);
/// The same transport as a Way of a composite: ";shm=NAME".
Result<Way> shm_way(const ShmOptions& options);

}  // namespace stretto
