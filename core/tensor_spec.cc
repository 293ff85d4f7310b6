// SPDX-License-Identifier: Apache-2.0
// Each rule on valid tensors is here, once, with the error text for the user.
#include "core/tensor_spec.h"

#include <fmt/core.h>

#include <algorithm>

#include "common/config/config.h"

namespace stretto {
namespace {

Status invalid(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

// A worker uses eager values before its own latest contribution is in them, so the worker must be
// able to apply that itself: w + f(contribution), where f is independent of w.
Status check_eager(const TensorSpec& spec) {
  const TensorOptions& options = spec.options;
  if (!is_eager(options.mode)) return {};
  const RuleOptions& update = options.update;
  const bool additive = update.rule == Rule::kSum || update.rule == Rule::kMean ||
                        (update.rule == Rule::kSgd && update.weight_decay == 0);
  if (!additive) {
    return invalid(fmt::format(
        "tensor '{}': mode {} needs a rule that only adds (sum, mean, sgd without weight decay), "
        "this is {}; keep its memory at the workers and push what they add, as Parameters does",
        spec.name, name_of(options.mode), name_of(update.rule)));
  }
  const bool whole = spec.dtype >= Dtype::kI8;
  if (update.rule == Rule::kMean && whole) {
    return invalid(fmt::format("tensor '{}': mode eager adds means, which {} cannot hold; use sum",
                               spec.name, name_of(spec.dtype)));
  }
  return {};
}

// Encoded contributions are summed in f32. An eager worker adds its own contribution to values that
// lack it, so it would have to add what the servers decode.
Status check_codec(const TensorSpec& spec) {
  if (!spec.options.codec) return {};
  const CodecSpec& codec = *spec.options.codec;
  if (Status status = check(codec); !status.ok()) {
    return {status.code(), fmt::format("tensor '{}': {}", spec.name, status.cause())};
  }
  if (!codec.lossy()) return {};
  if (spec.dtype != Dtype::kF32) {
    return invalid(
        fmt::format("tensor '{}': codec {} is for f32, this is {}; declare it without "
                    "a codec",
                    spec.name, stretto::name_of(codec.codec), name_of(spec.dtype)));
  }
  if (is_extreme_or_product(spec.options.update.rule)) {
    return invalid(fmt::format(
        "tensor '{}': codec {} is for sums and means, this is a {}; declare "
        "it without a codec",
        spec.name, stretto::name_of(codec.codec), stretto::name_of(spec.options.update.rule)));
  }
  if (is_eager(spec.options.mode)) {
    return invalid(
        fmt::format("tensor '{}': mode {} adds this worker's own shares before the "
                    "servers have them, and codec {} changes them on the way; use "
                    "sync, bounded or async, or no codec",
                    spec.name, name_of(spec.options.mode), stretto::name_of(codec.codec)));
  }
  return {};
}

Status check_exchange(const TensorSpec& spec) {
  const TensorOptions& options = spec.options;
  if (options.exchange == Exchange::kServers) return {};
  if (options.exchange > Exchange::kAuto) {
    return invalid(fmt::format("exchange {} of tensor '{}' is not known",
                               static_cast<int>(options.exchange), spec.name));
  }
  return goes_among_workers(spec);
}

// Only a worker that receives each contribution separately can tell which are in a sum.
Status check_close(const TensorSpec& spec) {
  const TensorOptions& options = spec.options;
  const CloseOptions& close = options.close;
  if (close.waits_for_all()) return {};
  const auto refused = [&spec](std::string_view wanted, std::string_view found) {
    return invalid(
        fmt::format("tensor '{}': rounds that end before all have contributed (quorum, backups) "
                    "are for {}, this is {}",
                    spec.name, wanted, found));
  };
  if (options.exchange != Exchange::kDirect) {
    return refused("exchange direct", name_of(options.exchange));
  }
  if (options.deterministic) return refused("sums in the order of arrival", "deterministic");
  if (close.late > Late::kDrop) {
    return invalid(fmt::format("late {} of tensor '{}' is not known", static_cast<int>(close.late),
                               spec.name));
  }
  if (close.quorum > kMaxNodes || close.backups >= kMaxNodes) {
    return invalid(
        fmt::format("tensor '{}' wants a quorum of {} and {} backups, at most {} are "
                    "taken",
                    spec.name, close.quorum, close.backups, kMaxNodes));
  }
  if (close.quorum > 0 && close.backups > 0) {
    return invalid(
        fmt::format("tensor '{}' has a quorum and backups; with backups a round ends "
                    "when each share of the data has come once, so leave quorum out",
                    spec.name));
  }
  if (close.late != Late::kOwn || close.backups > 0) return {};
  const Rule rule = options.update.rule;
  const bool adds = (rule == Rule::kSum || rule == Rule::kMean) && spec.dtype < Dtype::kI8;
  if (adds) return {};
  return invalid(
      fmt::format("tensor '{}': late own is for sums and means of floating types, this is a {} of "
                  "{}; use late next",
                  spec.name, stretto::name_of(rule), name_of(spec.dtype)));
}

}  // namespace

// Contributions are summed in the tensor's own type, which is too narrow for means of small types.
Status goes_among_workers(const TensorSpec& spec) {
  const TensorOptions& options = spec.options;
  const auto refused = [&spec, &options](std::string_view wanted, std::string_view found) {
    return invalid(
        fmt::format("tensor '{}': exchange {} is for {}, this is {}; use exchange servers",
                    spec.name, name_of(options.exchange), wanted, found));
  };
  if (options.mode != Mode::kSync) return refused("mode sync", name_of(options.mode));
  if (is_optimizer(options.update.rule)) {
    return refused("values of their round (sum, mean, min, max, product)",
                   stretto::name_of(options.update.rule));
  }
  if (options.codec && options.codec->lossy()) {
    return refused("tensors without a codec", options.codec->describe());
  }
  const bool wide =
      spec.dtype == Dtype::kF32 || spec.dtype == Dtype::kF64 || spec.dtype == Dtype::kI64;
  if (options.update.rule == Rule::kMean && !wide) {
    return refused("means of f32, f64 and i64", stretto::name_of(spec.dtype));
  }
  return {};
}

std::string TensorSpec::describe() const {
  const std::string shape = options.shape.empty() ? std::to_string(elements) : options.shape;
  std::string text =
      fmt::format("{}[{}] {}", stretto::name_of(dtype), shape, name_of(options.mode));
  if (options.mode == Mode::kBounded) text += fmt::format("({})", options.bound);
  const RuleOptions& rule = options.update;
  text += fmt::format(" {}", name_of(rule.rule));
  if (is_optimizer(rule.rule)) {
    text += fmt::format("(rate={} momentum={} nesterov={} beta1={} beta2={} epsilon={} decay={})",
                        rule.rate, rule.momentum, rule.nesterov, rule.beta1, rule.beta2,
                        rule.epsilon, rule.weight_decay);
  }
  if (options.deterministic) text += " deterministic";
  if (options.bulk) text += " bulk";
  if (options.exchange != Exchange::kServers) {
    text += fmt::format(" by {}", name_of(options.exchange));
  }
  const CloseOptions& close = options.close;
  if (close.quorum > 0) {
    text += fmt::format(" quorum={} late={}", close.quorum, stretto::name_of(close.late));
  }
  if (close.backups > 0) text += fmt::format(" backups={}", close.backups);
  if (options.codec) text += " as " + options.codec->describe();
  return text;
}

Status DescriptionBudget::take(const TensorSpec& spec) {
  constexpr std::size_t kBesides = 960;  // Options, the parts' owners, the declaring workers.
  const std::size_t needed = spec.name.size() + spec.options.shape.size() + kBesides;
  if (tensors_ >= kMaxTensors || bytes_ + needed > kBytes) {
    return {Code::kResource,
            fmt::format("the job has {} tensors already, whose names and descriptions take {} of "
                        "{} MiB: a name is for one tensor, and for all of its exchanges",
                        tensors_, bytes_ >> 20, kBytes >> 20)};
  }
  ++tensors_;
  bytes_ += needed;
  return {};
}

namespace {

RuleOptions canonical(const RuleOptions& rule) {
  RuleOptions used{.rule = rule.rule};
  if (!is_optimizer(rule.rule)) return used;
  used.rate = rule.rate;
  used.weight_decay = rule.weight_decay;
  if (rule.rule == Rule::kMomentum) {
    used.momentum = rule.momentum;
    used.nesterov = rule.nesterov;
  }
  if (rule.rule == Rule::kAdam) {
    used.beta1 = rule.beta1;
    used.beta2 = rule.beta2;
  }
  if (rule.rule == Rule::kAdam || rule.rule == Rule::kAdagrad) used.epsilon = rule.epsilon;
  return used;
}

CodecSpec canonical(const CodecSpec& codec) {
  CodecSpec used{
      .codec = codec.codec, .error_feedback = codec.error_feedback, .momentum = codec.momentum};
  const bool dithering = codec.codec == Codec::kDithering;
  const bool randomk = codec.codec == Codec::kRandomk;
  if (randomk || dithering || codec.codec == Codec::kTopk) used.k = codec.k;
  if (randomk || dithering) used.seed = codec.seed;
  if (codec.codec == Codec::kOnebit) used.scaling = codec.scaling;
  if (codec.momentum) used.mu = codec.mu;
  if (!dithering) return used;
  used.levels = codec.levels;
  used.norm = codec.norm;
  return used;
}

}  // namespace

TensorSpec canonical(TensorSpec spec) {
  spec.options.update = canonical(spec.options.update);
  if (spec.options.mode != Mode::kBounded) spec.options.bound = 0;
  CloseOptions& close = spec.options.close;
  if (close.quorum == 0) close.late = Late::kNext;
  std::optional<CodecSpec>& codec = spec.options.codec;
  if (codec) codec = codec->lossy() ? std::optional(canonical(*codec)) : std::nullopt;
  return spec;
}

Status check(const TensorSpec& spec) {
  const TensorOptions& options = spec.options;
  if (spec.name.empty() || spec.name.size() > kMaxNameBytes) {
    return invalid(fmt::format("a tensor's name has 1 to {} bytes, this one has {}", kMaxNameBytes,
                               spec.name.size()));
  }
  if (bytes_of(spec.dtype) == 0) {
    return invalid(fmt::format("dtype {} of tensor '{}' is not known", static_cast<int>(spec.dtype),
                               spec.name));
  }
  if (spec.elements > kMaxTensorBytes / 8) {
    return invalid(fmt::format("tensor '{}' has {} elements, at most {} are taken", spec.name,
                               spec.elements, kMaxTensorBytes / 8));
  }
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (options.shape.size() > kMaxShapeBytes || !std::ranges::all_of(options.shape, printable)) {
    return invalid(fmt::format("the shape of tensor '{}' is no text of at most {} printable bytes",
                               spec.name, kMaxShapeBytes));
  }
  if (options.mode < Mode::kSync || options.mode > Mode::kEagerAsync) {
    return invalid(fmt::format("mode {} of tensor '{}' is not known",
                               static_cast<int>(options.mode), spec.name));
  }
  if (options.update.rule < Rule::kSum || options.update.rule > Rule::kProduct) {
    return invalid(fmt::format("update rule {} of tensor '{}' is not known",
                               static_cast<int>(options.update.rule), spec.name));
  }
  if (options.update.rule == Rule::kMean && !has_rounds(options.mode)) {
    return invalid(
        fmt::format("tensor '{}': a mean is taken over a round, and mode {} has no "
                    "rounds; use the sum and scale the shares",
                    spec.name, name_of(options.mode)));
  }
  if (is_extreme_or_product(options.update.rule) && options.mode != Mode::kSync) {
    return invalid(
        fmt::format("tensor '{}': a {} is made of a round's shares, and in mode {} values are more "
                    "than that; use sync",
                    spec.name, stretto::name_of(options.update.rule), name_of(options.mode)));
  }
  if (options.deterministic && !has_rounds(options.mode)) {
    return invalid(
        fmt::format("tensor '{}': only modes sync and eager can be deterministic, this "
                    "is {}",
                    spec.name, name_of(options.mode)));
  }
  if (Status status = check_codec(spec); !status.ok()) return status;
  if (Status status = check_exchange(spec); !status.ok()) return status;
  if (Status status = check_close(spec); !status.ok()) return status;
  return check_eager(spec);
}

}  // namespace stretto
