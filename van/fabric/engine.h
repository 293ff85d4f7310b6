// SPDX-License-Identifier: Apache-2.0
// Traffic: what moves over the fabric. Sends the frames and notes of links, keeps receives posted,
// fetches announced payloads, and files what has come with the link that it belongs to.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "van/fabric/address_vector.h"
#include "van/fabric/fabric_links.h"
#include "van/fabric/options.h"

namespace stretto::fabric {

/// Thread: loop.
class Traffic {
 public:
  /// It touches links that something has happened to.
  Traffic(const FabricOptions& options, FabricLinks& links) : options_(options), links_(links) {}
  ~Traffic() { shut(); }

  /// Opens the endpoint, unless it is open.
  Status open(const std::string& host);
  /// Ends everything in flight. Regions of links must be gone by the destructor, or the next open.
  void shut();
  bool is_open() const { return endpoint_ != nullptr; }
  FabricEndpoint& endpoint() { return *endpoint_; }
  const FabricEndpoint& endpoint() const { return *endpoint_; }

  /// Learns where the link's far end is, and posts receives for it.
  Status meet(FabricLink& link);
  /// Forgets that.
  void forget(FabricLink& link);

  /// Says something to the far end of a link that has come, if there has been a link to it before.
  /// Where that far end alone knows that the provider's connection has ended, it would be refused
  /// another one until this end finds out.
  void prod(FabricLink& link);

  /// Sends what waits, and notes that are owed.
  void submit(FabricLink& link);
  /// Begins to fetch payloads that have been announced.
  void fetch(FabricLink& link);
  /// The receive may be used again.
  void release(PooledMessage* slot);
  void release_all(FabricLink& link);

  struct Collected {
    bool any = false;   ///< Something had been completed,
    bool more = false;  ///< and there may be more.
  };
  Collected collect(Time now);

 private:
  PooledMessage* take_send_slot();
  Given give_frame(FabricLink& link, Outgoing& frame);
  Given give_note(FabricLink& link, LinkId ends_with_it);
  void begin_fetch(FabricLink& link, Arrival& arrival);
  void post();
  void handle(const ProviderCompletion& completion);
  void on_message(PooledMessage* slot, std::size_t bytes);
  bool file(FabricLink& link, const Prefix& prefix, PooledMessage* slot);
  void on_fetched(Fetch* fetch, int error);
  void break_link(LinkId id, Status why);

  const FabricOptions& options_;
  FabricLinks& links_;
  std::unique_ptr<FabricEndpoint> endpoint_;
  std::unique_ptr<Slots> sends_;
  std::unique_ptr<Slots> frames_;
  std::unique_ptr<Slots> notes_;
  std::unordered_map<Fetch*, std::unique_ptr<Fetch>> fetches_;
  AddressVector addresses_;  // Of the links that were met.
  Time now_;
};

}  // namespace stretto::fabric
