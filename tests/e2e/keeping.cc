// SPDX-License-Identifier: Apache-2.0
// The worker of the tests of checkpoints: trains parameters that the servers keep, with a
// checkpoint every N steps, from the job's restart point; prints its first values, each checkpoint,
// and at the end a digest of all bits.
#include <fmt/format.h>
#include <gflags/gflags.h>
#include <stretto/checkpoints.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

DEFINE_uint64(steps, 100, "Steps in all, of this job and those that it goes on from");
DEFINE_uint64(every, 10, "Steps from one checkpoint to the next; 0: none");
DEFINE_bool(due, false, "Makes one when it is due by the clock instead");
DEFINE_uint64(elements, 100'000, "Elements of each tensor");
DEFINE_uint64(tensors, 3, "Tensors");
DEFINE_uint64(fail_at, 0, "The step at which worker 0 ends with status 7; 0: none");
DEFINE_bool(untouched, false, "Leaves the last tensor as it is, and looks at it at the end only");

namespace stretto {
namespace {

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

constexpr Rule kRules[] = {Rule::kAdam, Rule::kMomentum, Rule::kSgd};

struct Parameter {
  Tensor tensor;
  std::vector<float> gradient;
  std::vector<float> values;
};

// FNV-1a of the values' bits.
std::uint64_t digest_of(const std::vector<Parameter>& parameters) {
  std::uint64_t digest = 14695981039346656037ULL;
  for (const Parameter& parameter : parameters) {
    for (const float value : parameter.values) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      digest = (digest ^ bits) * 1099511628211ULL;
    }
  }
  return digest;
}

std::vector<Parameter> declare_all(Worker& worker) {
  std::vector<Parameter> parameters;
  for (std::uint64_t i = 0; i < FLAGS_tensors; ++i) {
    const TensorOptions options{.update = {.rule = kRules[i % 3], .rate = 0.01},
                                .deterministic = true};
    parameters.push_back(
        {.tensor =
             worker.declare(fmt::format("w{}", i), Dtype::kF32, FLAGS_elements, options).or_exit(),
         .gradient = std::vector<float>(FLAGS_elements),
         .values = std::vector<float>(FLAGS_elements)});
  }
  return parameters;
}

void begin(Worker& worker, Parameter& parameter) {
  for (std::size_t i = 0; i < parameter.values.size(); ++i) {
    parameter.values[i] = static_cast<float>(i % 11);
  }
  worker.broadcast(parameter.tensor, parameter.values, 0).wait().or_exit();
}

void step(Worker& worker, std::vector<Parameter>& parameters, std::uint64_t number) {
  std::vector<Ticket> tickets;
  const std::uint64_t last = FLAGS_tensors - (FLAGS_untouched ? 1 : 0);
  for (std::uint64_t t = 0; t < last; ++t) {
    Parameter& parameter = parameters[t];
    for (std::size_t i = 0; i < parameter.gradient.size(); ++i) {
      parameter.gradient[i] = static_cast<float>((i * 7 + worker.rank() + number * 3 + t) % 13) - 6;
    }
    tickets.push_back(worker.push_pull(parameter.tensor, parameter.gradient, parameter.values));
  }
  for (const Ticket& ticket : tickets) ticket.wait().or_exit();
}

void run() {
  Worker worker = Worker::join().or_exit();
  std::vector<Parameter> parameters = declare_all(worker);
  Checkpoints checkpoints(worker);
  const RestoredFrom restored = checkpoints.restored();
  for (Parameter& parameter : parameters) {
    if (!parameter.tensor.restored) begin(worker, parameter);
  }
  say(fmt::format("from checkpoint={} step={}", restored.number, restored.step));
  for (std::uint64_t number = restored.step; number < FLAGS_steps; ++number) {
    const bool is_its_turn = FLAGS_every != 0 && number % FLAGS_every == 0;
    const bool saves = FLAGS_due ? checkpoints.due(number).or_exit() : is_its_turn;
    if (saves && number != restored.step) {
      const Status made = checkpoints.save(number);
      say(made.ok() ? fmt::format("checkpoint step={}", number) : made.text());
    }
    if (FLAGS_fail_at != 0 && number == FLAGS_fail_at && worker.rank() == 0) std::_Exit(7);
    step(worker, parameters, number);
  }
  for (Parameter& parameter : parameters) {
    worker.pull(parameter.tensor, parameter.values).wait().or_exit();
  }
  say(fmt::format("digest={:016x}", digest_of(parameters)));
  worker.leave().or_exit();
}

}  // namespace
}  // namespace stretto

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  stretto::run();
  return 0;
}
