// SPDX-License-Identifier: Apache-2.0
// A reliable datagram endpoint of libfabric with its domain, address vector, completion queue, and
// the descriptor to wait for completions.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "van/fabric/provider.h"

namespace stretto::fabric {

struct CloseObject {
  template <typename T>
  void operator()(T* object) const {
    fi_close(&object->fid);
  }
};
template <typename T>
using Owned = std::unique_ptr<T, CloseObject>;

/// Registered memory: the provider may access it during the region's lifetime.
using Region = Owned<fid_mr>;

/// An operation of the provider. It must keep its address until its completion has arrived, or the
/// endpoint has been shut.
struct ProviderOperation {
  enum class Kind : std::uint8_t { kSend, kFrame, kNote, kRead };
  explicit ProviderOperation(Kind what) : kind(what) {}
  fi_context2 context{};  // The provider's; maps it to this object.
  Kind kind;
};

struct ProviderCompletion {
  ProviderOperation* operation = nullptr;
  std::size_t bytes = 0;  ///< Of a received message.
  int error = 0;          ///< One of libfabric's, positive.
};

/// The outcome of submitting an operation to the provider.
enum class Given { kTaken, kLater, kFailed };

/// Thread: loop.
class FabricEndpoint {
 public:
  /// Opens at `host`, a numeric address of this host.
  static Result<std::unique_ptr<FabricEndpoint>> open(const std::string& provider,
                                                      const std::string& host);
  FabricEndpoint(const FabricEndpoint&) = delete;
  FabricEndpoint& operator=(const FabricEndpoint&) = delete;
  ~FabricEndpoint();
  /// Ends all operations and connections: the provider no longer accesses our memory. Regions must
  /// end before the FabricEndpoint.
  void shut() { endpoint_.reset(); }

  const std::string& provider() const { return provider_; }
  const std::string& name() const { return name_; }
  /// The limits of the provider's queues: sends and receives.
  std::size_t most_sends() const { return info_->tx_attr->size; }
  std::size_t most_receives() const { return info_->rx_attr->size; }

  /// The address of the endpoint with that name, which is untrusted.
  Result<fi_addr_t> insert(const std::string& name);
  void remove(fi_addr_t address);

  /// Memory that a peer may read. Null: refused.
  Region expose(std::span<const std::byte> memory);
  std::uint64_t address_in(const Region& region, std::span<const std::byte> memory) const;
  /// Memory that the provider reads from and writes to for us; null if it needs no registration.
  Result<Region> lend(std::span<std::byte> memory);

  /// `descriptor` is fi_mr_desc of a lent region, or null.
  Given send(fi_addr_t to, std::span<const std::byte> bytes, void* descriptor,
             ProviderOperation& done);
  Given send_note(fi_addr_t to, std::span<const std::byte> bytes, void* descriptor,
                  ProviderOperation& done);
  Given receive(std::span<std::byte> into, void* descriptor, ProviderOperation& done);
  Given receive_note(std::span<std::byte> into, void* descriptor, ProviderOperation& done);
  Given read(fi_addr_t from, std::span<std::byte> into, void* descriptor, std::uint64_t address,
             std::uint64_t key, ProviderOperation& done);

  /// Makes progress. Returns some completions, at most the size of `room`.
  std::span<ProviderCompletion> collect(std::span<ProviderCompletion> room);
  /// Readable when there are completions or progress to make, if may_wait() returned true; -1: this
  /// provider has no such descriptor.
  int descriptor() const { return descriptor_; }
  /// Makes progress; false if there are completions to collect.
  bool may_wait() const;

 private:
  explicit FabricEndpoint(Info info) : info_(std::move(info)) {}
  Status open_all();
  void find_descriptor();
  bool collect_error(ProviderCompletion& into);
  std::uint64_t next_key();

  Info info_;
  std::string provider_;
  std::string name_;
  Owned<fid_fabric> fabric_;  // Each must end after those below it.
  Owned<fid_domain> domain_;
  Owned<fid_cq> completions_;
  Owned<fid_av> addresses_;
  Owned<fid_ep> endpoint_;
  int descriptor_ = -1;
  std::vector<std::uint64_t> keys_;  // Random and unused.
};

/// Random bits that an attacker cannot guess.
void fill_randomly(std::span<std::uint64_t> numbers);

}  // namespace stretto::fabric
