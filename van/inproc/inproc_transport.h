// SPDX-License-Identifier: Apache-2.0
// The inproc transport: frames between endpoints of one process, by lease and without a socket. For
// tests, for examples that fit in one program, and as the plainest reading of
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

/// Where endpoints find one another: those of one network only. Endpoints may outlive it.
/// Thread: any.
class InprocNetwork {
 public:
  /// A link holds at most `queue_frames` frames in each direction.
  explicit InprocNetwork(std::size_t queue_frames = 256);
  ~InprocNetwork();

  /// An endpoint: a Transport, for one thread of any choice. The payload that arrives is the
  /// sender's own lease.
  std::unique_ptr<Transport> make_endpoint();

 private:
  std::shared_ptr<inproc::Directory> directory_;
  std::size_t queue_frames_;
};

}  // namespace stretto
