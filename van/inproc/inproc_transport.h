// SPDX-License-Identifier: Apache-2.0
// The inproc transport: frames between endpoints of one process, by lease and without sockets. For
// tests, for examples in one program, and as the simplest implementation of
// van/transport/transport.h.
//
//   InprocNetwork network;
//   auto server = network.make_endpoint();
//   auto address = server->listen("here:0");        -> "here:1"
//   auto worker = network.make_endpoint();
//   auto link = worker->connect(*address);
#pragma once

#include <memory>

#include "van/transport/transport.h"

namespace stretto {

namespace inproc {
class Directory;
}  // namespace inproc

/// The scope in which endpoints find each other: one network. Endpoints may outlive it.
/// Thread: any.
class InprocNetwork {
 public:
  /// A link holds at most `queue_frames` frames in each direction.
  explicit InprocNetwork(std::size_t queue_frames = 256);
  ~InprocNetwork();

  /// A new endpoint, a Transport for one thread. Received payloads are the sender's own leases.
  std::unique_ptr<Transport> make_endpoint();

 private:
  std::shared_ptr<inproc::Directory> directory_;
  std::size_t queue_frames_;
};

}  // namespace stretto
