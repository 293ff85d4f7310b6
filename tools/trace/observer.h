// SPDX-License-Identifier: Apache-2.0
// Observer: a tool's connection to a job's scheduler: asks, and waits for the answer.
#pragma once

#include <memory>
#include <string>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/trace/attach.h"

namespace stretto::observe {

/// One answer: JSON, or records as bytes.
struct Observation {
  std::string text;
  std::string records;
};

/// Thread: user.
class Observer {
 public:
  /// Connects and greets. Errors: RendezvousTimeout if nobody answers there, and what the scheduler
  /// says.
  static Result<std::unique_ptr<Observer>> connect(const Target& target);
  virtual ~Observer() = default;

  /// Who is in and how they do, from number `first` on.
  virtual Result<Observation> snapshot(std::uint32_t first) = 0;
  virtual Result<Observation> start_trace(std::uint32_t iterations, std::uint32_t seconds) = 0;
  virtual Result<Observation> trace_state(std::uint32_t first) = 0;
  virtual Result<Observation> trace_records(std::uint32_t node, std::uint64_t offset) = 0;
  virtual Result<Observation> tensor_names(std::uint32_t first) = 0;
  /// What the threads of a worker do; empty: ask again.
  virtual Result<Observation> stack(std::uint32_t rank) = 0;
  /// The place of this server is to be another's, which is started on the host of this name; empty:
  /// on some other host, if there is one. The number of the one that has it, once it has; an error
  /// if that cannot be, and nothing has changed then.
  virtual Result<Rank> move(Rank server, const std::string& host) = 0;
  /// Lets time pass, and notices if the job ends meanwhile.
  virtual Status rest(Duration time) = 0;
};

}  // namespace stretto::observe
