// SPDX-License-Identifier: Apache-2.0
// Traffic: sends the frames and notes of links over the fabric, keeps receives posted, fetches
// announced payloads, and assigns received messages to their links.
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
  /// Traffic calls `links.touch()` for each link that needs work in a loop iteration.
  Traffic(const FabricOptions& options, FabricLinks& links) : options_(options), links_(links) {}
  ~Traffic() { shut(); }

  /// Opens the endpoint, unless it is open.
  Status open(const std::string& host);
  /// Ends all operations. Regions of links must be gone by the destructor, or the next open.
  void shut();
  bool is_open() const { return endpoint_ != nullptr; }
  FabricEndpoint& endpoint() { return *endpoint_; }
  const FabricEndpoint& endpoint() const { return *endpoint_; }

  /// Adds the address of the link's peer, and posts receives for it.
  Status meet(FabricLink& link);
  /// Undoes meet().
  void forget(FabricLink& link);

  /// Sends a note to the peer of an accepted link, if there was a link to it before. If only that
  /// peer knows that the provider's connection has ended, it could not reconnect until this end
  /// finds out.
  void prod(FabricLink& link);

  /// Sends waiting frames and pending notes.
  void submit(FabricLink& link);
  /// Starts to fetch announced payloads.
  void fetch(FabricLink& link);
  /// The receive may be reused.
  void release(PooledMessage* slot);
  void release_all(FabricLink& link);

  struct Collected {
    bool any = false;   ///< There were completions,
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
  AddressVector addresses_;  // Of the links passed to meet().
  Time now_;
};

}  // namespace stretto::fabric
