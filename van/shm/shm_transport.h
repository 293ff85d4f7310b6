// SPDX-License-Identifier: Apache-2.0
// The shared memory transport: frames between processes of one host. Addresses are names such as
// "shm:dGhpcyBpcyBhIG5h"; "shm:" asks for a new one.
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
  /// As connect(), but an error at once if nobody who listens at that address can be reached from
  /// here: nobody of this host, network namespace and user.
  virtual Result<LinkId> reach(std::string_view address) = 0;
  bool ends_with_process(LinkId) const override { return true; }
};

Result<std::unique_ptr<ShmTransport>> make_shm_transport(const ShmOptions& options);
/// The same as a way of a composite: ";shm=NAME".
Result<Way> shm_way(const ShmOptions& options);

}  // namespace stretto
