// SPDX-License-Identifier: Apache-2.0
// Orders that need no model. Each of them becomes ranks, and a priority is minus a rank.
#include "stretto/order.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <numeric>
#include <random>
#include <utility>

namespace stretto {
namespace {

constexpr std::uint32_t kMostRank = std::numeric_limits<std::int32_t>::max();

class RegistrationOrder final : public OrderSource {
 public:
  std::string_view name() const override { return "registration"; }
  Result<std::vector<int>> priorities(std::span<const std::string> tensors) const override {
    std::vector<int> found(tensors.size());
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = -static_cast<int>(i);
    return found;
  }
};

class ArrivalOrder final : public OrderSource {
 public:
  std::string_view name() const override { return "arrival"; }
  Result<std::vector<int>> priorities(std::span<const std::string> tensors) const override {
    return std::vector<int>(tensors.size(), 0);
  }
};

class RandomOrder final : public OrderSource {
 public:
  explicit RandomOrder(std::uint64_t seed) : seed_(seed) {}
  std::string_view name() const override { return "random"; }
  // Not std::shuffle: its result for a seed depends on the library.
  Result<std::vector<int>> priorities(std::span<const std::string> tensors) const override {
    std::vector<int> found(tensors.size());
    std::mt19937_64 random(seed_);
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i] = -static_cast<int>(i);
      std::swap(found[i], found[random() % (i + 1)]);
    }
    return found;
  }

 private:
  std::uint64_t seed_;
};

class RankedOrder final : public OrderSource {
 public:
  using Ranks = std::map<std::string, std::uint32_t, std::less<>>;
  RankedOrder(std::string name, Ranks ranks) : name_(std::move(name)), ranks_(std::move(ranks)) {}
  std::string_view name() const override { return name_; }
  Result<std::vector<int>> priorities(std::span<const std::string> tensors) const override {
    std::vector<int> found;
    found.reserve(tensors.size());
    for (const std::string& tensor : tensors) {
      const auto rank = ranks_.find(tensor);
      if (rank == ranks_.end()) {
        return Status(Code::kInvalidArgument,
                      fmt::format("wanted a rank for tensor '{}', the order '{}' has none; it "
                                  "knows {} tensors",
                                  tensor, name_, ranks_.size()));
      }
      found.push_back(-static_cast<int>(std::min(rank->second, kMostRank)));
    }
    return found;
  }

 private:
  std::string name_;
  Ranks ranks_;
};

class UseOrder final : public OrderSource {
 public:
  explicit UseOrder(RankedOrder::Ranks ranks) : ranks_(std::move(ranks)) {}
  std::string_view name() const override { return "first use"; }
  Result<std::vector<int>> priorities(std::span<const std::string> tensors) const override {
    std::vector<int> found;
    int next = static_cast<int>(ranks_.size());
    for (const std::string& tensor : tensors) {
      const auto rank = ranks_.find(tensor);
      found.push_back(rank == ranks_.end() ? -next++ : -static_cast<int>(rank->second));
    }
    return found;
  }

 private:
  RankedOrder::Ranks ranks_;
};

Status wrong_line(const std::string& path, std::size_t number, std::string_view cause) {
  return {Code::kInvalidArgument, fmt::format("{}:{}: {}; wanted a tensor's name, a tab and its "
                                              "rank, a whole number from 0 to {}",
                                              path, number, cause, kMostRank)};
}

}  // namespace

Order registration_order() { return std::make_unique<RegistrationOrder>(); }
Order arrival_order() { return std::make_unique<ArrivalOrder>(); }
Order random_order(std::uint64_t seed) { return std::make_unique<RandomOrder>(seed); }
Order ranked_order(std::string name, std::map<std::string, std::uint32_t, std::less<>> ranks) {
  return std::make_unique<RankedOrder>(std::move(name), std::move(ranks));
}

Result<Order> file_order(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    return Status(Code::kInvalidArgument,
                  fmt::format("cannot read {}; wanted a file of tensors and their ranks", path));
  }
  RankedOrder::Ranks ranks;
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string::npos) {
      return wrong_line(path, number, fmt::format("found '{}', which has no tab", line));
    }
    const std::string tensor = line.substr(0, tab);
    if (tensor.empty()) return wrong_line(path, number, "found no name before the tab");
    std::uint32_t rank = 0;
    const char* end = line.data() + line.size();
    const auto [stop, error] = std::from_chars(line.data() + tab + 1, end, rank);
    if (error != std::errc() || stop != end || rank > kMostRank) {
      return wrong_line(path, number, fmt::format("found the rank '{}'", line.substr(tab + 1)));
    }
    if (!ranks.emplace(tensor, rank).second) {
      return wrong_line(path, number, fmt::format("found '{}' for the second time", tensor));
    }
  }
  if (file.bad()) return Status(Code::kInvalidArgument, fmt::format("reading {} failed", path));
  return ranked_order(path, std::move(ranks));
}

void UseRecorder::used(std::string_view tensor) {
  if (ranks_.find(tensor) != ranks_.end()) return;
  ranks_.emplace(tensor, static_cast<std::uint32_t>(ranks_.size()));
}

Order UseRecorder::order() const { return std::make_unique<UseOrder>(ranks_); }

}  // namespace stretto
