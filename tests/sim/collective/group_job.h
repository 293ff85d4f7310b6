// SPDX-License-Identifier: Apache-2.0
// GroupJob: the members of a plan, the links between them, the recovery after a loss, and the
// invariants. Values are compared with sums over their contributors, computed without the code
// under test.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "collective/cost_model.h"
#include "tests/sim/collective/group_member.h"
#include "tests/sim/elastic/mail.h"
#include "tests/sim/violation.h"

namespace stretto::sim {

/// Thread: the simulation's.
class GroupJob {
 public:
  struct Made {
    std::vector<Place> by;
    GroupNumbers numbers;
    friend bool operator==(const Made&, const Made&) = default;
  };
  using Values = std::map<std::pair<std::uint32_t, std::uint64_t>, Made>;  // By part and round.
  struct Events {
    int lost = 0;
    int given_again = 0;  ///< Values sent in place of contributions.
    int made_again = 0;   ///< Rounds made again by fewer members.
    int early = 0, twice = 0;
  };

  /// `timing` determines only the order of arrivals.
  GroupJob(const GroupPlan& plan, std::uint64_t timing);
  std::optional<Violation> run();
  const Values& values() const { return values_; }
  const Events& events() const { return events_; }

 private:
  struct Link {
    std::vector<GroupFrame> waiting;
    bool busy = false;
  };

  void violated(const std::string& invariant, const std::string& text);
  bool works(Place place) const { return members_.contains(place); }
  void begin_later(Place place, std::uint32_t part, std::uint64_t round);
  void send(GroupFrame frame);
  void go_on(const std::pair<Place, Place>& way);
  void arrive(GroupFrame frame);
  void lose_somebody();
  void stop(Place place, std::uint32_t generation);
  void note_stopped(Place place, std::uint32_t generation, std::vector<std::uint64_t> finished);
  void resume_all();
  void done(Place place, std::uint32_t part, std::uint64_t round, const IndexSet& from,
            const GroupNumbers& numbers, bool again);
  void forget(Place lost);
  void check_value(std::uint32_t part, std::uint64_t round, const Made& made);
  void check_carried();
  void check_end();
  bool absent(Place place, std::uint32_t part, std::uint64_t round) const;
  GroupNumbers share(Place place, std::uint32_t part, std::uint64_t round) const;
  Places alive() const;

  GroupPlan plan_;
  Random random_;
  Mail mail_;
  std::map<Place, std::unique_ptr<GroupMember>> members_;
  std::map<std::pair<Place, Place>, Link> links_;
  std::vector<collective::Carried> out_, in_;
  std::vector<Places> views_;  // The members that make rounds, by epoch from 1 on.
  std::uint32_t generation_ = 1;
  std::map<Place, std::vector<std::uint64_t>> stopped_;  // Finished rounds of each stopped member.
  std::uint64_t arrived_ = 0;
  std::size_t losses_ = 0;
  Values values_;  // Values held by at least one live member.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::set<Place>> holders_;
  Events events_;
  std::optional<Violation> violation_;
};

}  // namespace stretto::sim
