// SPDX-License-Identifier: Apache-2.0
// A row for each node; stragglers are marked.
#include "tools/trace/top.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

namespace stretto::observe {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kNodesAPage = 500;

double number(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_number() ? found->get<double>() : 0;
}

std::string rate(double bytes_per_s) {
  if (bytes_per_s >= 1e9) return fmt::format("{:.2f} GB/s", bytes_per_s / 1e9);
  if (bytes_per_s >= 1e6) return fmt::format("{:.1f} MB/s", bytes_per_s / 1e6);
  return fmt::format("{:.1f} kB/s", bytes_per_s / 1e3);
}

// Smaller fractions are the noise of any job.
constexpr double kWorthAWord = 0.25;

// The throughput of a worker's readers, its wait for them, and their problem.
struct Input {
  std::string rate;
  std::string stall;
  std::string word;
};

Input input_of(const Json& node) {
  const auto found = node.find("input");
  if (found == node.end() || !found->is_object()) return {};
  Input input{.rate = rate(number(*found, "per_s")),
              .stall = fmt::format("{:.0f} %", 100 * number(*found, "stall_share")),
              .word = {}};
  const auto word = found->find("word");
  if (word != found->end() && word->is_string() && !word->get<std::string>().empty()) {
    input.word = fmt::format("input: {:.0f} % of what it asks for, {}",
                             100 * number(*found, "share"), word->get<std::string>());
  } else if (number(*found, "limit") > 0) {
    input.word = fmt::format("input: held to {:.0f} KiB", number(*found, "limit") / 1024);
  }
  return input;
}

// "loss 0.31, accuracy 0.9": metrics of the worker's program.
std::string reports_of(const Json& node) {
  constexpr std::size_t kMostNames = 4;
  const auto found = node.find("reports");
  if (found == node.end() || !found->is_object()) return {};
  std::string text;
  std::size_t named = 0;
  for (const auto& [name, value] : found->items()) {
    if (!value.is_number() || named++ == kMostNames) break;
    text += fmt::format("{}{} {:.4g}", text.empty() ? "" : ", ", name, value.get<double>());
  }
  return text;
}

std::string row_of(const Json& node) {
  const auto name = node.find("name");
  const auto role = node.find("role");
  const bool worker = role != node.end() && *role == "worker";
  const auto left = node.find("left");
  const Input input = input_of(node);
  std::string word = input.word;
  const auto lost = node.find("lost");
  const auto standby = node.find("standby");
  if (left != node.end() && *left == true) {
    word = lost != node.end() && *lost == true ? "is lost" : "has left";
  } else if (standby != node.end() && *standby == true) {
    word = "stands by";
  } else if (number(node, "held_share") >= kWorthAWord) {
    word = fmt::format("others wait for it {:.0f} % of the time", 100 * number(node, "held_share"));
  }
  const std::string reports = reports_of(node);
  if (!reports.empty()) word = word.empty() ? reports : fmt::format("{}; {}", reports, word);
  const auto if_worker = [worker](const std::string& text) { return worker ? text : ""; };
  return fmt::format(
      "{:<20} {:>9} {:>7} {:>8} {:>6} {:>11} {:>11} {:>8} {:>11} {:>6} {:>7.1f}  {}\n",
      name != node.end() && name->is_string() ? name->get<std::string>() : "?",
      if_worker(fmt::format("{:.0f}", number(node, "rounds"))),
      if_worker(fmt::format("{:.0f}", number(node, "behind"))),
      if_worker(fmt::format("{:.1f}", number(node, "rounds_per_s"))),
      if_worker(fmt::format("{:.0f}", number(node, "staleness"))), rate(number(node, "in_per_s")),
      rate(number(node, "out_per_s")), fmt::format("{:.0f}", number(node, "waiting")), input.rate,
      input.stall, number(node, "silence_s"), word);
}

std::string text(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool truth(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && *found == true;
}

const char* state_of(const Json& node) {
  if (truth(node, "left")) return truth(node, "lost") ? "lost" : "left";
  return truth(node, "standby") ? "standby" : "in";
}

// Keeps integers.
Json amount(const Json& node, const char* key) {
  const auto found = node.find(key);
  return found != node.end() && found->is_number() ? *found : Json(0);
}

OrderedJson line_of_input(const Json& node) {
  const auto input = node.find("input");
  if (input == node.end() || !input->is_object()) return nullptr;
  return {{"bytes_per_s", amount(*input, "per_s")},
          {"share", amount(*input, "share")},
          {"stall_share", amount(*input, "stall_share")},
          {"limit_bytes", amount(*input, "limit")},
          {"remark", text(*input, "word")}};
}

OrderedJson line_of_node(const Json& node) {
  const auto reports = node.find("reports");
  const bool reports_any = reports != node.end() && reports->is_object();
  return {{"node", text(node, "name")},
          {"role", text(node, "role")},
          {"rank", amount(node, "rank")},
          {"shard", amount(node, "shard")},
          {"state", state_of(node)},
          {"rounds", amount(node, "rounds")},
          {"behind", amount(node, "behind")},
          {"staleness", amount(node, "staleness")},
          {"rounds_per_s", amount(node, "rounds_per_s")},
          {"bytes_in_per_s", amount(node, "in_per_s")},
          {"bytes_out_per_s", amount(node, "out_per_s")},
          {"frames_waiting", amount(node, "waiting")},
          {"bytes_in_flight", amount(node, "in_flight")},
          {"held_share", amount(node, "held_share")},
          {"silence_s", amount(node, "silence_s")},
          {"reports", reports_any ? *reports : Json::object()},
          {"input", line_of_input(node)}};
}

OrderedJson line_of_standstill(const Json& page) {
  const auto stall = page.find("stall");
  if (stall == page.end() || !stall->is_object()) return nullptr;
  return {{"seconds", amount(*stall, "s")}, {"role", text(*stall, "role")},
          {"rank", amount(*stall, "rank")}, {"phase", text(*stall, "phase")},
          {"cause", text(*stall, "cause")}, {"text", text(*stall, "word")}};
}

// A line if rounds have waited for a push for seconds.
std::string stall_of(const Json& page) {
  const auto stall = page.find("stall");
  if (stall == page.end() || !stall->is_object()) return {};
  const auto word = stall->find("word");
  if (word == stall->end() || !word->is_string()) return {};
  return fmt::format("STANDSTILL for {:.0f} s: {}\n", number(*stall, "s"),
                     word->get<std::string>());
}

// A line for each plan that `auto` has chosen, with the alternatives.
std::string chosen_of(const Json& page) {
  std::string text;
  const auto all = page.find("exchange");
  if (all == page.end() || !all->is_array()) return text;
  for (const Json& chosen : *all) {
    if (!chosen.is_object()) continue;
    const auto plan = chosen.find("plan");
    const auto why = chosen.find("why");
    if (plan == chosen.end() || !plan->is_string()) continue;
    const bool told =
        why != chosen.end() && why->is_string() && !why->get_ref<const std::string&>().empty();
    text += fmt::format("exchange auto: {:.0f} tensor(s), {:.3g} MB a round, go by {}\n",
                        number(chosen, "tensors"), number(chosen, "bytes") / 1e6,
                        (told ? *why : *plan).get<std::string>());
  }
  return text;
}

}  // namespace

Result<std::string> table_from(const std::string& json, bool with_head) {
  const Json page = Json::parse(json, nullptr, false);
  const auto nodes = page.is_object() ? page.find("nodes") : page.end();
  if (!page.is_object() || nodes == page.end() || !nodes->is_array()) {
    return Status(Code::kMalformed, "the scheduler's snapshot makes no sense");
  }
  std::string text;
  if (with_head) {
    const auto phase = page.find("phase");
    text += fmt::format("job is {}, {:.0f} nodes\n",
                        phase != page.end() && phase->is_string() ? phase->get<std::string>() : "?",
                        number(page, "count"));
    text += stall_of(page);
    text += chosen_of(page);
    text += fmt::format("{:<20} {:>9} {:>7} {:>8} {:>6} {:>11} {:>11} {:>8} {:>11} {:>6} {:>7}\n",
                        "node", "rounds", "behind", "rounds/s", "stale", "in", "out", "waiting",
                        "input", "stall", "silent");
  }
  for (const Json& node : *nodes) {
    if (node.is_object()) text += row_of(node);
  }
  return text;
}

Result<std::string> table_of(ObserverClient& observer, std::size_t lines) {
  std::string text;
  for (std::size_t first = 0; first < lines; first += kNodesAPage) {
    Result<Observation> answer = observer.snapshot(static_cast<std::uint32_t>(first));
    if (!answer.ok()) return answer.status();
    Result<std::string> table = table_from(answer->text, first == 0);
    if (!table.ok()) return table;
    if (table->empty()) break;
    text += *table;
  }
  return text;
}

Result<std::string> line_from(const std::vector<std::string>& pages, const LineHead& head) {
  OrderedJson line;
  OrderedJson nodes = OrderedJson::array();
  for (const std::string& json : pages) {
    const Json page = Json::parse(json, nullptr, false);
    const auto found = page.is_object() ? page.find("nodes") : page.end();
    if (!page.is_object() || found == page.end() || !found->is_array()) {
      return Status(Code::kMalformed, "the scheduler's snapshot makes no sense");
    }
    if (line.empty()) {
      line = {{"time", head.time_s},
              {"job", head.job},
              {"scheduler", head.scheduler},
              {"phase", text(page, "phase")},
              {"standstill", line_of_standstill(page)}};
    }
    for (const Json& node : *found) {
      if (node.is_object()) nodes.push_back(line_of_node(node));
    }
  }
  line["nodes"] = std::move(nodes);
  return line.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

Result<std::string> line_of(ObserverClient& observer, const LineHead& head, std::size_t nodes) {
  std::vector<std::string> pages;
  for (std::size_t first = 0; first < nodes; first += kNodesAPage) {
    Result<Observation> answer = observer.snapshot(static_cast<std::uint32_t>(first));
    if (!answer.ok()) return answer.status();
    const Json page = Json::parse(answer->text, nullptr, false);
    const auto found = page.is_object() ? page.find("nodes") : page.end();
    if (first > 0 && (!page.is_object() || found == page.end() || found->empty())) break;
    pages.push_back(std::move(answer->text));
  }
  return line_from(pages, head);
}

}  // namespace stretto::observe
