// SPDX-License-Identifier: Apache-2.0
// The table of spellings.
#include "tools/launch/plan/flags.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

namespace stretto::launch {
namespace {

constexpr std::size_t kLettersAnError = 3;  // Letters of a word per tolerated error.

struct Spelling {
  std::string_view name;
  Flag flag;
};

constexpr Spelling kSpellings[] = {
    {"workers", Flag::kWorkers},
    {"num-workers", Flag::kWorkers},
    {"n", Flag::kWorkers},
    {"np", Flag::kWorkers},
    {"restarts", Flag::kRestarts},
    {"max-restarts", Flag::kRestarts},
    {"checkpoint", Flag::kCheckpoint},
    {"checkpoint-every", Flag::kCheckpointEvery},
    {"resume", Flag::kResume},
    {"servers", Flag::kServers},
    {"num-servers", Flag::kServers},
    {"s", Flag::kServers},
    {"shards", Flag::kShards},
    {"replicas", Flag::kReplicas},
    {"via", Flag::kVia},
    {"launcher", Flag::kVia},
    {"H", Flag::kHosts},
    {"host", Flag::kHosts},
    {"hosts", Flag::kHosts},
    {"hostfile", Flag::kHostfile},
    {"worker-hostfile", Flag::kWorkerHostfile},
    {"server-hostfile", Flag::kServerHostfile},
    {"oversubscribe", Flag::kOversubscribe},
    {"encrypt", Flag::kEncrypt},
    {"scheduler-host", Flag::kSchedulerHost},
    {"scheduler-ip", Flag::kSchedulerHost},
    {"interface", Flag::kInterface},
    {"port", Flag::kPort},
    {"starter", Flag::kStarter},
    {"chdir", Flag::kDirectory},
    {"wdir", Flag::kDirectory},
    {"wd", Flag::kDirectory},
    {"env", Flag::kEnvironment},
    {"log-dir", Flag::kLogDirectory},
    {"page", Flag::kPage},
    {"metrics", Flag::kMetrics},
    {"trace", Flag::kTrace},
    {"bin-dir", Flag::kProgramDirectory},
    {"start-timeout", Flag::kStartTimeout},
    {"settle", Flag::kSettle},
    {"drain", Flag::kDrain},
    {"grace", Flag::kGrace},
    {"dry-run", Flag::kDryRun},
    {"check", Flag::kCheck},
    {"print", Flag::kPrint},
    {"name", Flag::kName},
    {"rdzv-id", Flag::kName},
    {"namespace", Flag::kNamespace},
    {"image", Flag::kImage},
    {"cpus", Flag::kProcessors},
    {"memory", Flag::kMemory},
    {"nproc-per-node", Flag::kProcessesPerNode},
    {"nnodes", Flag::kNodes},
    {"node-rank", Flag::kNodeRank},
    {"standalone", Flag::kStandalone},
    {"rdzv-endpoint", Flag::kRendezvousEndpoint},
    {"rdzv-backend", Flag::kRendezvousBackend},
    {"master-addr", Flag::kMasterAddress},
    {"master-port", Flag::kMasterPort},
    {"module", Flag::kModule},
    {"m", Flag::kModule},
    {"no-python", Flag::kNoPython},
    {"agent", Flag::kAgent},
    {"help", Flag::kHelp},
    {"h", Flag::kHelp},
    {"version", Flag::kVersion},
};

// Flags of torchrun, mpirun, horovodrun and DeepSpeed, by plain name.
struct Counterpart {
  std::string_view theirs;
  std::string_view ours;
};

constexpr Counterpart kCounterparts[] = {
    {"num-proc", "-n"},
    {"num-processes", "-n"},
    {"num-gpus", "-n"},
    {"ntasks", "-n"},
    {"num-nodes", "-H HOST:SLOTS,..."},
    {"include", "-H HOST:SLOTS,..."},
    {"machinefile", "--hostfile"},
    {"min-np", "--workers MIN:MAX"},
    {"max-np", "--workers MIN:MAX"},
    {"x", "--env NAME=VALUE"},
    {"network-interface", "--interface"},
    {"network-interfaces", "--interface"},
    {"nics", "--interface"},
    {"ssh-port", "--starter 'ssh -p PORT'"},
    {"output-filename", "--log-dir"},
    {"timeline-filename", "--trace DIR"},
    {"dashboard", "--page"},
    {"cwd", "--chdir"},
    {"workdir", "--chdir"},
};

// Flags of torchrun without a counterpart here.
constexpr Counterpart kWithoutCounterpart[] = {
    {"rdzv-conf",
     "processes meet at the job's scheduler; --start-timeout limits how long they wait"},
    {"monitor-interval", "the launcher learns of each process's end at once; leave it out"},
    {"role", "every worker has one role; leave it out"},
    {"start-method", "each worker is a program of its own; leave it out"},
    {"redirects", "--log-dir DIR keeps each process's output in a file of its own"},
    {"r", "--log-dir DIR keeps each process's output in a file of its own"},
    {"tee", "--log-dir DIR also shows what it keeps"},
    {"t", "--log-dir DIR also shows what it keeps"},
    {"local-ranks-filter", "--log-dir DIR keeps each process's output in a file of its own"},
    {"logs-specs", "--log-dir DIR keeps each process's output in a file of its own"},
    {"local-addr", "--interface NAME chooses the address on every host"},
    {"run-path", "name the file as PROGRAM"},
};

// Levenshtein distance: insertions, deletions and replacements.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string with_hyphens(std::string_view name) {
  return fmt::format("{}{}", name.size() == 1 || name == "np" ? "-" : "--", name);
}

std::string plain_name(std::string_view word) {
  std::string name(word.substr(std::min(word.find_first_not_of('-'), word.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

std::optional<Flag> find_flag(std::string_view name) {
  for (const Spelling& known : kSpellings) {
    if (known.name == name) return known.flag;
  }
  return std::nullopt;
}

bool has_value(Flag flag) {
  switch (flag) {
    case Flag::kOversubscribe:
    case Flag::kEncrypt:
    case Flag::kDryRun:
    case Flag::kCheck:
    case Flag::kStandalone:
    case Flag::kModule:
    case Flag::kNoPython:
    case Flag::kAgent:
    case Flag::kHelp:
    case Flag::kVersion:
      return false;
    default:
      return true;
  }
}

std::string_view instead_of(std::string_view name) {
  const auto* found = std::ranges::find(kWithoutCounterpart, name, &Counterpart::theirs);
  return found == std::end(kWithoutCounterpart) ? std::string_view() : found->ours;
}

std::string nearest_flag(std::string_view name) {
  const auto* counterpart = std::ranges::find(kCounterparts, name, &Counterpart::theirs);
  if (counterpart != std::end(kCounterparts)) return std::string(counterpart->ours);
  const auto* nearest = std::min_element(std::begin(kSpellings), std::end(kSpellings),
                                         [&](const Spelling& a, const Spelling& b) {
                                           return distance(name, a.name) < distance(name, b.name);
                                         });
  if (distance(name, nearest->name) > name.size() / kLettersAnError) return {};
  return with_hyphens(nearest->name);
}

}  // namespace stretto::launch
