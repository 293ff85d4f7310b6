// SPDX-License-Identifier: Apache-2.0
// What a C++ program trains, for workers that join its elastic job: they receive it as a step
// begins, bit for bit, from the members.
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

  /// Memory that is the same at all workers whenever a step begins, such as parameters, moments, a
  /// count: a span, vector or array of numbers or other plain values. It stays in place, and
  /// outlives this. All workers add the same, in one order, before the first next().
  template <typename Values>
  void add(std::string_view name, Values& values) {
    const std::span all(values);
    static_assert(std::is_trivially_copyable_v<typename decltype(all)::value_type>);
    add_bytes(name, std::as_writable_bytes(all));
  }
  void add_bytes(std::string_view name, std::span<std::byte> memory);

  /// Begins the next step, as ProgramSteps::next() does. If workers join before it, each previous
  /// member sends them a part of the memory, and all wait until they have it; losing a sender
  /// changes nothing. kMismatch at a joining worker that has added other memory; kPeerLost if all
  /// senders are lost. Otherwise it costs as much as ProgramSteps::next().
  Result<StepBegin> next();
  /// The underlying steps.
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
