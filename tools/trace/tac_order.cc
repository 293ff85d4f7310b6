// SPDX-License-Identifier: Apache-2.0
// Assumes a chain of computations: each needs the tensor that the program awaited before it.
#include "tools/trace/tac_order.h"

#include <fmt/core.h>

#include "stretto/order.h"

namespace stretto::observe {

Result<std::string> tac_file(const std::vector<trace::Measured>& measured) {
  if (measured.empty()) {
    return Status(Code::kInvalidArgument,
                  "no tensor went there and back in this trace, so there is nothing to order");
  }
  ModelGraph graph;
  for (std::uint32_t i = 0; i < measured.size(); ++i) {
    const trace::Measured& one = measured[i];
    if (one.tensor.find_first_of("\t\n") != std::string::npos || one.tensor.starts_with('#')) {
      return Status(Code::kInvalidArgument,
                    fmt::format("the name '{}' cannot stand in a file of an order", one.tensor));
    }
    graph.transfers.push_back(
        {.name = one.tensor, .bytes = one.bytes, .time = Duration(one.transfer_ns)});
    ModelGraph::Node node{.name = "after " + one.tensor,
                          .inputs = {},
                          .transfers = {i},
                          .time = Duration(one.compute_ns)};
    if (i > 0) node.inputs.push_back(i - 1);
    graph.nodes.push_back(std::move(node));
  }
  Result<std::vector<std::uint32_t>> ranks = tac_ranks(graph);
  if (!ranks.ok()) return ranks.status();
  std::string text = "# by TAC, from times measured in a trace; read by stretto::file_order\n";
  for (std::size_t i = 0; i < measured.size(); ++i) {
    text += fmt::format("{}\t{}\n", measured[i].tensor, (*ranks)[i]);
  }
  return text;
}

}  // namespace stretto::observe
