// SPDX-License-Identifier: Apache-2.0
// A bare libfabric endpoint of tcp;ofi_rxm over loopback that waits without spinning: for limits,
// and so that they do not depend on the transport that is held against them.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/status.h"

namespace stretto::bench {

struct CloseFabricObject {
  template <typename T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <typename T>
using FabricObject = std::unique_ptr<T, CloseFabricObject>;

/// Thread: the one that opened it, at a time.
class FabricEnd {
 public:
  static Result<std::unique_ptr<FabricEnd>> open();

  const std::string& name() const { return name_; }
  bool meet(const std::string& name, fi_addr_t& address);
  /// Memory that others may read with that key.
  bool expose(std::span<const std::byte> memory, std::uint64_t key);

  // Each is tried until the provider takes it. `context` comes back by wait(); false: it failed.
  bool send(fi_addr_t to, std::span<const std::byte> bytes, std::uint64_t tag, void* context);
  bool receive(std::span<std::byte> into, std::uint64_t tag, std::uint64_t ignored, void* context);
  bool read(fi_addr_t from, std::span<std::byte> into, std::uint64_t key, void* context);

  struct Done {
    void* context = nullptr;
    std::uint64_t tag = 0;  ///< Of a message received.
    std::size_t bytes = 0;  ///< Of it.
    bool failed = false;
    bool nothing = false;  ///< Nothing has ended in time.
  };
  /// The next that has ended; waits for it without spinning.
  Done wait(int milliseconds);

 private:
  template <typename Call>
  bool insist(Call call);
  Done next();

  std::unique_ptr<fi_info, void (*)(fi_info*)> info_{nullptr, nullptr};
  FabricObject<fid_fabric> fabric_;
  FabricObject<fid_domain> domain_;
  FabricObject<fid_cq> completions_;
  FabricObject<fid_av> addresses_;
  std::vector<FabricObject<fid_mr>> regions_;
  FabricObject<fid_ep> endpoint_;
  std::string name_;
  int descriptor_ = -1;
  std::vector<Done> early_;  // Ended while something else was being tried.
};

}  // namespace stretto::bench
