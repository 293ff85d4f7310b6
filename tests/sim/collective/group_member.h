// SPDX-License-Identifier: Apache-2.0
// GroupMember: one member of a simulated group: it applies the decisions of production's PartRounds
// to numbers. It sends frames and reports results; the job delivers and checks them.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "collective/part_rounds.h"
#include "tests/sim/collective/group_plan.h"

namespace stretto::sim {

/// A part's numbers: sums of `exact` are exact, sums of `rough` depend on the order.
struct GroupNumbers {
  std::vector<double> exact;
  std::vector<float> rough;

  void add(const GroupNumbers& other);
  friend bool operator==(const GroupNumbers&, const GroupNumbers&) = default;
};

struct GroupFrame {
  Place from = 0, to = 0;
  std::uint32_t part = 0;
  std::uint32_t epoch = 0;
  std::uint64_t round = 0;
  bool up = false;
  collective::Given given = collective::Given::kSum;
  IndexSet contributors;
  GroupNumbers numbers;
};

/// Thread: the simulation's.
class GroupMember {
 public:
  struct World {
    std::function<void(GroupFrame)> send;
    /// A round is done: (place, part, round, contributors, value, done before).
    std::function<void(Place, std::uint32_t, std::uint64_t, const IndexSet&, const GroupNumbers&,
                       bool)>
        done;
    /// An invariant does not hold.
    std::function<void(const std::string&, const std::string&)> violated;
  };

  GroupMember(Place place, const GroupPlan& plan, const collective::Strategy& strategy,
              World world);

  void begin(std::uint32_t part, collective::Given given, GroupNumbers numbers);
  void receive(GroupFrame frame);
  void stop();
  std::vector<std::uint64_t> finished() const;
  void resume(std::uint32_t epoch, const collective::Strategy& strategy,
              const std::vector<std::uint64_t>& finished_by_all);

  Place place() const { return place_; }
  const collective::PartRounds& rounds(std::uint32_t part) const { return parts_[part].rounds; }

 private:
  struct Part {
    explicit Part(collective::PartRounds made) : rounds(std::move(made)) {}
    collective::PartRounds rounds;
    GroupNumbers own, last;  // Contribution to the last round begun, value of the last one done.
    GroupNumbers sum;
    bool has_sum = false;
    std::map<Place, GroupNumbers> kept;
    bool zeros = false;
  };

  void take(std::uint32_t number, const collective::Effects& effects);
  void carry_out(std::uint32_t number, const collective::Effects& effects);
  void send(std::uint32_t number, Place to, bool up);
  void check_held(const Part& part) const;

  Place place_;
  const GroupPlan& plan_;
  World world_;
  std::vector<Part> parts_;
  std::vector<GroupFrame> early_;
};

}  // namespace stretto::sim
