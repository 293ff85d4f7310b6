// SPDX-License-Identifier: Apache-2.0
// Which tensor should travel first: sources of priorities for push, pull and push_pull.
//
//   std::vector<int> urgent = tic_order(graph).or_exit()->priorities(names).or_exit();
//   worker.push_pull(tensors[i], grads[i], params[i], urgent[i]);
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
  /// "layer", "tic" and so on.
  virtual std::string_view name() const = 0;
  /// One for each of `tensors`, which are named in the order of their registration: 0 for the most
  /// urgent, and less for the others. Equals go in the order in which they are handed over.
  /// Errors: InvalidArgument, with its name, if the source does not know a tensor.
  virtual Result<std::vector<int>> priorities(std::span<const std::string> tensors) const = 0;
};
using Order = std::unique_ptr<const OrderSource>;

/// First registered, first sent.
Order registration_order();
/// All are equal: each goes when its gradient is there, which backward is the last layer first.
Order arrival_order();
/// Any order, a different one for each seed, the same on every machine.
Order random_order(std::uint64_t seed);
/// By rank: the lowest first, and equal ranks are equal. Tensors without a rank are an error.
Order ranked_order(std::string name, std::map<std::string, std::uint32_t, std::less<>> ranks);
/// As a file says: a line for each tensor, its name, a tab, and its rank, a whole number. Lines
/// that are empty or begin with # say nothing. Errors name file, line, and what was found there.
Result<Order> file_order(const std::string& path);

/// A model's forward pass, as far as transfers matter: which computation needs which tensors.
struct ModelGraph {
  struct Transfer {
    std::string name;              ///< Of the tensor.
    std::uint64_t bytes = 0;       ///< For time_transfers; 0: not known.
    std::optional<Duration> time;  ///< Measured, on an idle link; none counts as 1 ms.
  };
  struct Node {
    std::string name;
    std::vector<std::uint32_t> inputs;     ///< Nodes that it comes after, all earlier in `nodes`.
    std::vector<std::uint32_t> transfers;  ///< What it needs of `transfers`.
    std::optional<Duration> time;          ///< Measured, of the computation; none counts as 1 ms.
  };
  std::vector<Transfer> transfers;
  std::vector<Node> nodes;  ///< In an order in which they can be computed.
};
/// Gives every transfer the time that its bytes take.
void time_transfers(ModelGraph& graph, double bytes_per_second);

/// Ranks of graph.transfers: those that the first nodes use come first. Errors, of all of these:
/// InvalidArgument for a graph that names what it does not have.
Result<std::vector<std::uint32_t>> layer_ranks(const ModelGraph& graph);
/// Without times: a transfer that completes what a computation needs comes the sooner, the fewer
/// transfers that computation needs. Equals share the rank of their first.
Result<std::vector<std::uint32_t>> tic_ranks(const ModelGraph& graph);
/// With times: again and again the transfer that lets computation and transfers overlap best.
Result<std::vector<std::uint32_t>> tac_ranks(const ModelGraph& graph);

Result<Order> layer_order(const ModelGraph& graph);
Result<Order> tic_order(const ModelGraph& graph);
Result<Order> tac_order(const ModelGraph& graph);

/// Finds out by itself what is used first: told of every use in the first iteration, it orders the
/// others. Thread: user, one at a time.
class UseRecorder {
 public:
  /// The tensor is needed now. Only its first use counts.
  void used(std::string_view tensor);
  /// Used first, sent first; what has never been used comes last, in order of registration.
  Order order() const;

 private:
  std::map<std::string, std::uint32_t, std::less<>> ranks_;
};

}  // namespace stretto
#pragma GCC visibility pop
