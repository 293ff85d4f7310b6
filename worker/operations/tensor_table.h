// SPDX-License-Identifier: Apache-2.0
// Tensors: those declared at this worker, by number and by name, with their parts.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/cut.h"
#include "core/tensor_spec.h"
#include "worker/operations/part_state.h"

namespace stretto {

/// A tensor that is known. Thread: loop.
struct TensorState {
  std::uint32_t id = 0;
  TensorSpec spec;
  Cut cut;
  std::vector<PartState> parts;
  std::vector<std::uint32_t> probed;  ///< One part for each link.
  bool is_group = false;              ///< It has calls, and no parts.
  Status failed;                      ///< Why operations on it end at once, or ok.
  bool restored = false;              ///< The checkpoint that the job resumed from has it.
  std::uint32_t first_slot = 0;       ///< Of its parts.

  /// Its kind and name: "tensor 'w'".
  std::string describe() const;
  PartState::LaneName lane_of(const Operation& operation) const;
  /// The lane of the operation that a value answers.
  PartState::LaneName lane_of(const wire::ValueFrame& value) const;
  /// A part's bytes in memory that holds the whole tensor.
  template <typename Byte>
  std::span<Byte> bytes_of(std::span<Byte> whole, std::uint32_t part) const {
    return whole.subspan(cut.offset_of(part), cut.bytes_of_part(part));
  }
  /// The tensor fails: no operation waits for it any more.
  void fail(const Status& why);
};

/// Thread: loop. Pointers from find() stay valid.
class Tensors {
 public:
  /// Adds a tensor, unless it is known; `links` has the link of each part's owner. A codec's random
  /// choices depend on `rank`.
  void add(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
           const std::vector<LinkId>& links, Rank rank = 0);

  /// This worker joins a running job: calls LastValue::come_late() of all parts.
  void come_late();

  /// The tensor, or null.
  TensorState* find(std::uint32_t id);
  const TensorState* find(std::uint32_t id) const;
  const TensorState* find(std::string_view name) const;
  /// The tensor that has this part, or null.
  TensorState* find(const wire::Key& key);
  /// The tensor of an operation that was begun.
  TensorState& of(const Operation& operation) { return tensors_.at(operation.tensor.id); }

  /// Why operations on it fail at once, or ok: any code can fill in a Tensor, or keep it longer
  /// than the worker that made it.
  Status check(const Tensor& tensor) const;
  /// The link to the owner of each part of a tensor that is known.
  std::vector<LinkId> links_of(std::uint32_t id) const;
  /// The links that have yet to answer an operation, each once.
  std::set<LinkId> awaited_by(const Operation& operation) const;
  /// Contributions to a part that were sent or wait for that; 0 for an unknown part.
  std::uint64_t rounds_begun(std::uint32_t id, std::uint32_t part) const;
  /// Moves parts from the link of their previous owner to that of the new one. Returns the tensors
  /// that have such parts.
  std::vector<std::uint32_t> move(LinkId from, LinkId to);
  /// True if no open collected round has a contribution of this worker. Ignores failed tensors.
  bool settled() const;
  /// Fails all tensors that have not failed yet.
  void fail_all(const Status& why);

 private:
  std::unordered_map<std::uint32_t, TensorState> tensors_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  bool came_late_ = false;
};

}  // namespace stretto
