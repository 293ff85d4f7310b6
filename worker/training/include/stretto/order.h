// SPDX-License-Identifier: Apache-2.0
// Which tensor should be sent first: sources of priorities for push, pull and push_pull.
//
//   std::vector<int> urgent = tic_order(graph).or_exit()->priorities(names).or_exit();
//   worker.push_pull(tensors[i], grads[i], params[i], urgent[i]);
//
// A source ranks tensors; the priority of a tensor is minus its rank, so 0 is the most urgent. The
// functions here only compute: they do not block, and may be called from any thread. They keep no
// arguments, except for names.
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
  /// One for each of `tensors`, which are in the order of their registration: 0 for the most
  /// urgent, and less for the others. Tensors of one priority go in the order in which they are
  /// pushed. kInvalidArgument, with its name, if the source does not know a tensor.
  virtual Result<std::vector<int>> priorities(std::span<const std::string> tensors) const = 0;
};
/// An order source, owned by the caller.
using Order = std::unique_ptr<const OrderSource>;

/// First registered, first sent: suits a model whose layers are registered from the input on.
Order registration_order();
/// All are equal: each tensor goes when its gradient is ready, so the last layer is first.
Order arrival_order();
/// Any order, a different one for each seed, the same on every machine.
Order random_order(std::uint64_t seed);
/// By rank: the lowest first; equal ranks are equal priorities. `name` is the source's name.
/// priorities() is kInvalidArgument for a tensor without a rank.
Order ranked_order(std::string name, std::map<std::string, std::uint32_t, std::less<>> ranks);
/// From a file with a line for each tensor: its name, a tab, and its rank, a whole number from 0 to
/// 2^31 - 1. Lines that are empty or begin with # are ignored. kInvalidArgument, with the file, the
/// line and its text, if the file cannot be read, a line is invalid, or a name occurs twice.
Result<Order> file_order(const std::string& path);

/// A model's forward pass, as far as transfers matter: which computation needs which tensors.
/// Indices are those of `nodes` and `transfers`.
struct ModelGraph {
  /// One tensor that must arrive before some computation can start.
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

/// Ranks of graph.transfers, in their order: transfers of the first nodes come first. This and the
/// other two return kInvalidArgument for an unknown index, and for an input that is not before its
/// node.
Result<std::vector<std::uint32_t>> layer_ranks(const ModelGraph& graph);
/// TIC, timing-independent: ranks a transfer by the smallest computation that waits for it and
/// others: the fewer transfers that needs, the sooner (all times count as equal).
/// Equals share the rank of their first.
Result<std::vector<std::uint32_t>> tic_ranks(const ModelGraph& graph);
/// TAC, timing-aware: picks, one after another, the transfer that lets computation and transfers
/// overlap best. Cost: of the order of transfers squared times nodes.
Result<std::vector<std::uint32_t>> tac_ranks(const ModelGraph& graph);

/// Sources of these orders, by the names of the transfers. kInvalidArgument also for a name that
/// occurs twice.
Result<Order> layer_order(const ModelGraph& graph);
Result<Order> tic_order(const ModelGraph& graph);
Result<Order> tac_order(const ModelGraph& graph);

/// An order from observation, for models without a graph: it records every use in the first
/// iteration, and gives the order for later ones. Thread: user, one at a time.
class UseRecorder {
 public:
  /// The computation needs the tensor now. Only its first use counts; the name is copied.
  void used(std::string_view tensor);
  /// Used first, sent first; tensors that were never used come last, in order of registration.
  /// Later records do not change an order that was returned.
  Order order() const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> ranks_;
};

}  // namespace stretto
#pragma GCC visibility pop
