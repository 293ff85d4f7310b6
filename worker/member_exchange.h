// SPDX-License-Identifier: Apache-2.0
// MemberExchange: tensors that are exchanged among workers: sums go up a tree of them, values come
// down. What a part does next, its Reduction decides; here its words are carried out over links.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "van/van.h"
#include "worker/exchange_way.h"
#include "worker/member_tensor.h"
#include "worker/peer_links.h"

namespace stretto {

/// Thread: loop.
class MemberExchange final : public ExchangeWay {
 public:
  /// All outlive this.
  MemberExchange(Van& van, Tensors& tensors, PeerLinks& peers, Outcomes outcomes);

  /// A tensor is exchanged among these, from now on. All of them are told so.
  Status add(const TensorState& tensor, const Roster& roster, NodeId self);
  bool has_tensors() const { return !members_.empty(); }

  Status refusal(const TensorState& tensor, const Operation& operation) const override;
  void begin(TensorState& tensor, const OperationPtr& operation) override;
  void advance(TensorState& tensor, const Operation& operation) override;
  void forget(Operation&) override {}
  void failed(const TensorState& tensor, const Status& why) override;

  void on_data(LinkId link, const wire::Header& header, Buffer payload);
  /// Where the value in the frame of this header is wanted; empty if it is not, or not yet known.
  std::span<std::byte> landing(LinkId link, const wire::Header& header);
  /// A word of a worker to whom there is a link.
  void on_control(LinkId link, const Member& peer, const control::Message& message);
  /// This worker makes no rounds any more: the others hear which ones there will not be.
  void leave();

 private:
  using Place = collective::Place;
  struct At {  // A part, and what is known of it.
    TensorState& tensor;
    MemberTensor& known;
    std::uint32_t part;
    MemberPart& state() const { return known.parts[part]; }
    const OperationPtr& operation() const { return tensor.parts[part].current(PartState::kShares); }
  };

  void greet(NodeId node);
  void on_open(const Member& peer, const control::Open& open);
  void on_fault(const Member& peer, const control::Fault& fault);
  void on_leave(const Member& peer);
  void doom(std::uint32_t id, MemberTensor& known, MemberTensor::Doom doom);

  MemberTensor* find(const wire::Key& key);
  void start(const At& at);
  void start_next(const At& at);
  void take_kept(const At& at);
  void on_up(const At& at, Place from, const wire::UpFrame& up, Buffer payload);
  void on_down(const At& at, Place from, const wire::DownFrame& down, const Buffer& payload);
  Status check_call(const At& at, Place from, const wire::UpFrame& up) const;
  void carry_out(const At& at, const collective::Effects& effects);
  void send_up(const At& at);
  void send_down(const At& at);
  void post(const At& at, Place to, const wire::Header& header, Buffer payload);
  void finish(const At& at);
  void fail(const At& at, Place from, const Status& why);

  Van& van_;
  Tensors& tensors_;
  PeerLinks& peers_;
  const Outcomes outcomes_;
  std::unordered_map<std::uint32_t, MemberTensor> members_;  // By tensor.
  std::map<std::uint32_t, std::set<NodeId>> known_to_;       // Tensors that are not known here yet.
  std::map<std::uint32_t, MemberTensor::Doom> dooms_;        // Of such tensors.
  std::map<NodeId, Status> left_;
  bool told_ = false;  // The failure of a tensor comes from another worker.
};

}  // namespace stretto
