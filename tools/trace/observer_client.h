// SPDX-License-Identifier: Apache-2.0
// ObserverClient: a tool's connection to a job's scheduler: sends requests, and waits for answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stretto/status.h"
#include "stretto/types.h"
#include "tools/trace/attach.h"

namespace stretto::control {
struct Move;
}

namespace stretto::observe {

/// An answer: JSON, or records as bytes.
struct Observation {
  std::string text;
  std::string records;
};

/// Servers that the tool starts ask to join the job.
struct ServerJoinRequest {
  std::uint32_t count = 1;          ///< Number of servers,
  std::optional<Rank> place = {};   ///< and the server rank; none: the scheduler chooses.
  std::uint64_t machine = 0;        ///< Where they run (common/network/machine.h).
  std::optional<Rank> server = {};  ///< The started server, for `place`.
};

/// The state of one of these servers.
struct ServerJoinStatus {
  enum class What : std::uint8_t {
    kRefused,  ///< The request as a whole is rejected: `why`.
    kStarts,   ///< Start it now as `server`, with `settings`.
    kIsIn,     ///< It is primary or standby.
    kGivenUp   ///< It cannot join: `why`.
  };
  What what = What::kRefused;
  Rank server = 0;
  Rank from = 0;              ///< The previous primary.
  std::string settings = {};  ///< common/config/job_variables.h
  Status why = {};
};

/// Parses a scheduler's answer. A refusal that names a started server concerns only that server.
ServerJoinStatus news_in(const control::Move& move);

/// Thread: user.
class ObserverClient {
 public:
  /// Connects and sends a hello. Errors: RendezvousTimeout without an answer, and the scheduler's
  /// errors. `goes_on` is called repeatedly meanwhile; false: Cancelled.
  static Result<std::unique_ptr<ObserverClient>> connect(const Target& target,
                                                         const std::function<bool()>& goes_on = {});
  virtual ~ObserverClient() = default;

  /// The members and their state, from number `first` on.
  virtual Result<Observation> snapshot(std::uint32_t first) = 0;
  virtual Result<Observation> start_trace(std::uint32_t iterations, std::uint32_t seconds) = 0;
  virtual Result<Observation> trace_state(std::uint32_t first) = 0;
  virtual Result<Observation> trace_records(std::uint32_t node, std::uint64_t offset) = 0;
  virtual Result<Observation> tensor_names(std::uint32_t first) = 0;
  /// Stacks of a worker's threads; empty: ask again.
  virtual Result<Observation> stack(std::uint32_t rank) = 0;
  /// Migrates the server to a new process on the named host; empty: on another host, if there is
  /// one. Returns the id of the replacement after the migration. An error means that it is
  /// impossible, and the job is unchanged.
  virtual Result<Rank> move(Rank server, const std::string& host) = 0;
  /// Requests to join; news about each server follow.
  virtual void ask_to_join(const ServerJoinRequest& wish) = 0;
  /// Reports that its process has ended.
  virtual void tell_end(Rank server) = 0;
  /// News that arrive within `patience`; returns at once when there are some.
  virtual Result<std::vector<ServerJoinStatus>> join_news(Duration patience) = 0;
  /// Lets time pass, and detects the job's end meanwhile.
  virtual Status rest(Duration time) = 0;
};

}  // namespace stretto::observe
