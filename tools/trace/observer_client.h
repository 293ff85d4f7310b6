// SPDX-License-Identifier: Apache-2.0
// ObserverClient: a tool's connection to a job's scheduler: asks, and waits for the answer.
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

/// One answer: JSON, or records as bytes.
struct Observation {
  std::string text;
  std::string records;
};

/// Servers that the tool starts are to have places.
struct ServerJoinRequest {
  std::uint32_t count = 1;          ///< So many,
  std::optional<Rank> place = {};   ///< and of this server; none: the scheduler chooses.
  std::uint64_t machine = 0;        ///< Where they run (common/network/machine.h).
  std::optional<Rank> server = {};  ///< It has been started as this one, for `place`.
};

/// What has become of one of them.
struct ServerJoinStatus {
  enum class What : std::uint8_t {
    kRefused,  ///< Nothing of a wish, as a whole: `why`.
    kStarts,   ///< It is to be started as `server` now, and told `settings`.
    kIsIn,     ///< It has its place, or stands by for it.
    kGivenUp   ///< It will not: `why`.
  };
  What what = What::kRefused;
  Rank server = 0;
  Rank from = 0;              ///< Who had the place.
  std::string settings = {};  ///< common/config/job_variables.h
  Status why = {};
};

/// In a scheduler's answer. A refusal that names a server which has been started is about that one
/// alone.
ServerJoinStatus news_in(const control::Move& move);

/// Thread: user.
class ObserverClient {
 public:
  /// Connects and greets. Errors: RendezvousTimeout if nobody answers there, and what the scheduler
  /// says. `goes_on` is called again and again meanwhile: Cancelled, once it says no.
  static Result<std::unique_ptr<ObserverClient>> connect(const Target& target,
                                                         const std::function<bool()>& goes_on = {});
  virtual ~ObserverClient() = default;

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
  /// News follow, of each server that it may be.
  virtual void ask_to_join(const ServerJoinRequest& wish) = 0;
  /// Its process has ended.
  virtual void tell_end(Rank server) = 0;
  /// Those that have come within that time: once there are some, at once.
  virtual Result<std::vector<ServerJoinStatus>> join_news(Duration patience) = 0;
  /// Lets time pass, and notices if the job ends meanwhile.
  virtual Status rest(Duration time) = 0;
};

}  // namespace stretto::observe
