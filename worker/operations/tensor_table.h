// SPDX-License-Identifier: Apache-2.0
// Tensors: those that were declared at this worker, by number and by name, with their parts.
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
  bool is_group = false;              ///< Of calls, which have no parts of their own.
  Status failed;                      ///< Why operations on it end at once, or ok.
  bool restored = false;              ///< The checkpoint that the job goes on from has it.
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
  /// From now on nothing waits for it.
  void fail(const Status& why);
};

/// Thread: loop. What find() gives stays where it is.
class Tensors {
 public:
  /// Makes a tensor known, unless it is; `links` gives the link of each part's owner. Our rank is
  /// what a codec's chance depends on.
  void add(std::uint32_t id, const TensorSpec& spec, const Cut& cut,
           const std::vector<LinkId>& links, Rank rank = 0);

  /// This worker comes into a job that runs: LastValue::come_late() of all parts.
  void come_late();

  /// The tensor, or null.
  TensorState* find(std::uint32_t id);
  const TensorState* find(std::uint32_t id) const;
  const TensorState* find(std::string_view name) const;
  /// The tensor that has this part, or null.
  TensorState* find(const wire::Key& key);
  /// Of an operation that was begun.
  TensorState& of(const Operation& operation) { return tensors_.at(operation.tensor.id); }

  /// Why operations on it end with an error at once, or ok: a Tensor is a struct that anybody can
  /// fill in, or keep longer than the worker that made it.
  Status check(const Tensor& tensor) const;
  /// The link to the owner of each part of a tensor that is known.
  std::vector<LinkId> links_of(std::uint32_t id) const;
  /// The links to those who have yet to answer an operation, each once.
  std::set<LinkId> awaited_by(const Operation& operation) const;
  /// Shares of a part that were sent or wait to be; none of a part that is not known.
  std::uint64_t rounds_begun(std::uint32_t id, std::uint32_t part) const;
  /// Parts whose owner was at the end of one link have it at the end of another one now. These
  /// tensors have such.
  std::vector<std::uint32_t> move(LinkId from, LinkId to);
  /// No collected round is open that we have a share in. Of tensors that have failed nobody knows.
  bool settled() const;
  /// Those that have not failed yet do.
  void fail_all(const Status& why);

 private:
  std::unordered_map<std::uint32_t, TensorState> tensors_;
  std::map<std::string, std::uint32_t, std::less<>> ids_;
  bool came_late_ = false;
};

}  // namespace stretto
