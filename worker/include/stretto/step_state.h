// SPDX-License-Identifier: Apache-2.0
// What a program in C++ trains, for workers that come into its elastic job: they receive it as a
// step begins, bit by bit, from those who are in.
//
//   std::vector<float> weights = ..., moments = ...;
//   stretto::StepState state(worker);
//   state.add("weights", weights);
//   state.add("moments", moments);
//   while (training) {
//     state.next().or_exit();
//     ... one step: push_pull of gradients, which changes weights and moments alike everywhere ...
//   }
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "stretto/steps.h"

#pragma GCC visibility push(default)
namespace stretto {

/// Thread: one, that of the program's steps. The worker must outlive it.
class StepState {
 public:
  explicit StepState(Worker& worker) : worker_(&worker), steps_(worker) {}

  /// Memory that all workers have alike whenever a step begins, such as parameters, an optimizer's
  /// moments, a count: a span, vector or array of numbers or other plain values. It must stay where
  /// it is, and outlive this. All workers add the same, in the same order, before the first next().
  template <typename Values>
  void add(std::string_view name, Values& values) {
    const std::span all(values);
    static_assert(std::is_trivially_copyable_v<typename decltype(all)::value_type>);
    add_bytes(name, std::as_writable_bytes(all));
  }
  void add_bytes(std::string_view name, std::span<std::byte> memory);

  /// Begins the next step, as ProgramSteps::next() does. If workers come in before it, each of
  /// those who were in sends them a part of the memory, and all wait until they have it; one that
  /// is lost meanwhile changes nothing. kMismatch at a newcomer that has added something else;
  /// kPeerLost if all are lost who had it. While nobody comes it costs what that does.
  Result<StepBegin> next();
  /// For what else steps have.
  ProgramSteps& steps() { return steps_; }

 private:
  struct Memory {
    std::string name;
    std::span<std::byte> bytes;
  };
  struct Presence;

  Status bring(const StepBegin& begins);
  Result<bool> transfer(bool lacks, std::uint32_t givers);
  Result<bool> exchange_window(std::size_t first, std::size_t last, bool lacks,
                               std::uint32_t givers);
  Result<bool> compare(bool lacks, bool gives);
  Result<Presence> look(bool lacks, bool comes_in);
  std::size_t total() const;
  void copy(std::size_t first, std::span<std::byte> piece, bool out);

  Worker* worker_;
  ProgramSteps steps_;
  std::vector<Memory> memories_;
};

}  // namespace stretto
#pragma GCC visibility pop
