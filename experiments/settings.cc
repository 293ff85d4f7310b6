// SPDX-License-Identifier: Apache-2.0
// The flags of each experiment, their limits, and the output of --help.
#include "experiments/settings.h"

#include <fmt/core.h>

#include "tools/bench/support/flags.h"

namespace stretto::bench::experiments {

Result<Experiment> find_experiment(std::string_view name) {
  if (name == "replay") return Experiment::kReplay;
  if (name == "io") return Experiment::kIo;
  return Status(Code::kInvalidArgument,
                fmt::format("there is no experiment '{}'; there are replay, io", name));
}

Result<Settings> read_settings(Experiment experiment, std::span<const std::string> words) {
  Settings settings;
  settings.experiment = experiment;
  std::vector<Flag> flags{switch_flag("json", settings.json), switch_flag("help", settings.help)};
  const bool replays = experiment == Experiment::kReplay;
  for (Flag& flag : replays ? replay_flags(settings.replay) : io_flags(settings.io)) {
    flags.push_back(std::move(flag));
  }
  Status status = read_flags(words, flags);
  if (status.ok() && !settings.help) {
    status = replays ? check_replay(settings.replay) : check_io(settings.io);
  }
  if (!status.ok()) return status;
  return settings;
}

std::string help_text() {
  return R"(usage: stretto-experiment NAME [FLAG]...

Experiments of the literature that Stretto stands on, with its own servers, workers and readers.

  replay     a model's training iterations over links of a given rate, with one schedule of its
             transfers after another: real servers, workers and bytes, emulated computing (as root)
  io         how near the input tuner comes to the best depth and read size of a device

both
  --json       one JSON object a line on stdout, and nothing else there
  --repeats N  how often all is measured, by turns; medians are reported (replay 2, io 1)
  --help, --version

replay
  --model M         alexnet, vgg16, resnet50, inception_v3, densenet121 or bert_base (resnet50)
  --rate_mbit N     of the link that is reproduced (10000)
  --lab_mbit N      of the links that are made, one for each worker and server (400)
  --scale N         one in N of the model's bytes travels (16); computing takes as long as keeps its
                    ratio to the transfers
  --scheme S,...    all, or some of serial, wfbp, slice, priority, p3, preempt, preempt-plain,
                    delayed and eager (all); or among two or more workers ladder, or some of ring,
                    ring-64mb, ring-fused, auto-fused, auto-dag, auto-windows, auto-delayed and
                    auto-unfused; docs/BENCHMARKS.md has what each of them does
  --delay_s T       of the links that are made, one way between two hosts (0)
  --order O         priorities, instead of the schemes' own: registration, arrival, layer, random,
                    tic, tac, first_use, or file:PATH with lines NAME<TAB>RANK
  --late_layers N   of scheme delayed: so many of the first come an iteration late (100000: all)
  --workers N, --servers N   each with a host of its own (1, 1)
  --iterations N    measured, of each scheme, in all rounds together (30)
  --warm_up N       before them in each round, and not counted (5)
  --slice_bytes N   parts of the schemes that have them, of the model's bytes (1000000)
  --compute_s S     computing of one iteration on the link that is reproduced (the model's own)
  --seed N          of random orders (1)

io
  --device model|real   modelled devices, whose best setting is known, in virtual time; or files,
                        past the page cache (model)
  --kind K,...          of modelled devices: all, or some of sata, nvme, network, one_channel,
                        noisy, saturating, cloud (all)
  --seeds N             tunings of each kind (100)
  --path FILE|FOLDER    what is read of the real device
  --pattern sequential|random|files
                        how: on and on; anywhere; whole files in a shuffled order (sequential)
  --seconds S           of a window on the real device (0.25)

what the numbers mean
  compute_s, one_way_s emulated computing of an iteration, and the model's bytes / raw TCP
  serial_s, bound_s    compute_s + 2 one_way_s; and the larger of the two, which nothing lossless
                       beats
  iteration_s_median, iteration_s_iqr, original_s
                       from the start of an iteration to that of the next, at all workers;
                       original_s is the median on the link that is reproduced
  cpu_used             what workers, servers and the kernel's interrupts used of all processors.
                       Above 0.85, or with late_p99_us above 1 % of an iteration, the figure
                       is refused
  late_p50_us, late_p99_us
                       how late the sleeps that stand for computing ended
  overlap, efficiency  (serial_s - iteration) / min(compute_s, 2 one_way_s), and the same time
                       / (serial_s - bound_s)
  depth, read_bytes    what was chosen, most often; gb_per_s and p95_ms of it in the long run
  tuned_gb_per_s       what the choices bring, on average of the seeds
  best_grid_gb_per_s   the best of all settings; each was measured, and without noise if modelled
  ratio_to_best        of the two; ratio_min and ratio_p5 of the seeds; below_95: how many of them
  probes               settings that were measured to choose: the most of any seed

Exit status: 0; 1 if a measurement failed; 2 if the command line cannot be used.
)";
}

}  // namespace stretto::bench::experiments
