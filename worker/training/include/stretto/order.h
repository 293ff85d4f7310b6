// SPDX-License-Identifier: Apache-2.0
// Which tensor should travel first: sources of priorities for push, pull and push_pull.
//
//   std::vector<int> urgent = tic_order(graph).or_exit()->priorities(names).or_exit();
//   worker.push_pull(tensors[i], grads[i], params[i], urgent[i]);
//
// A source ranks tensors; the priority of a tensor is minus its rank, so 0 is the most urgent. The
// functions here compute: they do not block, and may be called from any thread. What they are given
// is not kept, but for names.
//
// TIC and TAC are from TicTac (Hashemi, Abdu Jyothi, Campbell; MLSys 2019, arXiv 1803.03288).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"

#pragma GCC visibility push(default)
namespace stretto {

/// Gives each tensor its priority. Thread: any (it does not change).
class OrderSource {
 public:
  virtual ~OrderSource() = default;
  /// "layer", "tic" and so on, for logs and errors; lasts as long as the source.
  virtual std::string_view name() const = 0;
  /// One for each of `tensors`, in their order, which is that of their registration: 0 for the most
  /// urgent, and less for the others. Tensors of one priority go in the order in which they are
  /// pushed. kInvalidArgument, with its name, if the source does not know a tensor.
  virtual Result<std::vector<int>> priorities(std::span<const std::string> tensors) const = 0;
};
/// Owned by whoever asked for it.
using Order = std::unique_ptr<const OrderSource>;

/// First registered, first sent: what suits a model whose layers are registered from the input on.
Order registration_order();
/// All are equal: each goes when its gradient is there, which backward is the last layer first.
Order arrival_order();
/// Any order, a different one for each seed, the same on every machine.
Order random_order(std::uint64_t seed);
/// By rank: the lowest first; equal ranks are equal priorities. `name` is what the source is
/// called. Of a tensor without a rank priorities() is kInvalidArgument.
Order ranked_order(std::string name, std::map<std::string, std::uint32_t, std::less<>> ranks);
/// As a file says: a line for each tensor: its name, a tab, and its rank, a whole number from 0 to
/// 2^31 - 1. Lines that are empty or begin with # are ignored. kInvalidArgument if it cannot be
/// read, a line is none of these, or a name occurs twice: with file, line, and what was found
/// there.
Result<Order> file_order(const std::string& path);

/// A model's forward pass, as far as transfers matter: which computation needs which tensors.
/// Indices are those of `nodes` and `transfers`.
struct ModelGraph {
  /// One tensor that has to be here before some computation can start.
  struct Transfer {
    std::string name;              ///< Of the tensor; each name once.
    std::uint64_t bytes = 0;       ///< For time_transfers; 0: not known.
    std::optional<Duration> time;  ///< Measured, on an idle link; none counts as 1 ms.
  };
  /// One computation: an operator, or a layer.
  struct Node {
    std::string name;
    std::vector<std::uint32_t>
        inputs;  ///< Nodes that it comes after: smaller indices than its own.
    std::vector<std::uint32_t> transfers;  ///< What it needs of `transfers`.
    std::optional<Duration> time;          ///< Measured, of the computation; none counts as 1 ms.
  };
  std::vector<Transfer> transfers;
  std::vector<Node> nodes;  ///< In an order in which they can be computed.
};
/// Sets the time of every transfer to that of its bytes at this rate, which is above 0.
void time_transfers(ModelGraph& graph, double bytes_per_second);

/// Ranks of graph.transfers, in their order: those that the first nodes use come first. Of this and
/// the other two: kInvalidArgument for an index that the graph does not have, and for an input that
/// is not before its node.
Result<std::vector<std::uint32_t>> layer_ranks(const ModelGraph& graph);
/// TIC, timing-independent: a transfer comes the sooner, the fewer transfers the smallest
/// computation needs that waits for it and others (all times count as equal).
/// Equals share the rank of their first.
Result<std::vector<std::uint32_t>> tic_ranks(const ModelGraph& graph);
/// TAC, timing-aware: picks, one after another, the transfer that lets computation and transfers
/// overlap best. Cost: of the order of transfers squared times nodes.
Result<std::vector<std::uint32_t>> tac_ranks(const ModelGraph& graph);

/// The same as sources, by the names of the transfers. kInvalidArgument also for a name that occurs
/// twice.
Result<Order> layer_order(const ModelGraph& graph);
Result<Order> tic_order(const ModelGraph& graph);
Result<Order> tac_order(const ModelGraph& graph);

/// An order from observation, for models without a graph: told of every use in the first iteration,
/// it gives the order for the next ones. Thread: user, one at a time.
class UseRecorder {
 public:
  /// The computation needs the tensor now. Only its first use counts; the name is copied.
  void used(std::string_view tensor);
  /// Used first, sent first; what has never been used comes last, in order of registration. What is
  /// recorded later does not change an order that was given.
  Order order() const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> ranks_;
};

}  // namespace stretto
#pragma GCC visibility pop
