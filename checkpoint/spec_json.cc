// SPDX-License-Identifier: Apache-2.0
// Each option has its name from the C++ API.
#include "checkpoint/spec_json.h"

#include <fmt/core.h>

#include <optional>
#include <utility>

#include "checkpoint/json_fields.h"

namespace stretto::checkpoint {
namespace {

std::string hex_of(const std::string& bytes) {
  std::string hex;
  for (const char byte : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

std::optional<std::string> bytes_of_hex(const std::string& hex) {
  if (hex.size() % 2 != 0 || hex.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return std::nullopt;
  }
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

Json json_of(const RuleOptions& rule) {
  Json json{{"rule", name_of(rule.rule)}};
  if (!is_optimizer(rule.rule)) return json;
  json["rate"] = rule.rate;
  json["momentum"] = rule.momentum;
  json["nesterov"] = rule.nesterov;
  json["beta1"] = rule.beta1;
  json["beta2"] = rule.beta2;
  json["epsilon"] = rule.epsilon;
  json["weight_decay"] = rule.weight_decay;
  return json;
}

bool read_rule(const Json& json, RuleOptions& rule) {
  if (!read_name(json, "rule", Rule::kSum, Rule::kProduct, rule.rule)) return false;
  if (!is_optimizer(rule.rule)) return true;
  return read(json, "rate", rule.rate) && read(json, "momentum", rule.momentum) &&
         read(json, "nesterov", rule.nesterov) && read(json, "beta1", rule.beta1) &&
         read(json, "beta2", rule.beta2) && read(json, "epsilon", rule.epsilon) &&
         read(json, "weight_decay", rule.weight_decay);
}

Json json_of(const CodecSpec& codec) {
  return {{"codec", name_of(codec.codec)},
          {"k", codec.k},
          {"scaling", codec.scaling},
          {"error_feedback", codec.error_feedback},
          {"momentum", codec.momentum},
          {"mu", codec.mu},
          {"seed", codec.seed},
          {"natural", codec.levels == DitherLevels::kNatural},
          {"l2", codec.norm == DitherNorm::kL2}};
}

bool read_codec(const Json& json, CodecSpec& codec) {
  bool natural = false;
  bool l2 = false;
  const bool whole = read_name(json, "codec", Codec::kNone, Codec::kDithering, codec.codec) &&
                     read(json, "k", codec.k) && read(json, "scaling", codec.scaling) &&
                     read(json, "error_feedback", codec.error_feedback) &&
                     read(json, "momentum", codec.momentum) && read(json, "mu", codec.mu) &&
                     read(json, "seed", codec.seed) && read(json, "natural", natural) &&
                     read(json, "l2", l2);
  codec.levels = natural ? DitherLevels::kNatural : DitherLevels::kLinear;
  codec.norm = l2 ? DitherNorm::kL2 : DitherNorm::kMax;
  return whole;
}

bool read_close(const Json& json, CloseOptions& close) {
  return read(json, "quorum", close.quorum) &&
         read_name(json, "late", Late::kNext, Late::kDrop, close.late) &&
         read(json, "backups", close.backups);
}

bool read_spec_name(const Json& json, std::string& name) {
  if (read(json, "name", name)) return true;
  std::string hex;
  if (!read(json, "name_hex", hex)) return false;
  std::optional<std::string> bytes = bytes_of_hex(hex);
  if (!bytes) return false;
  name = *std::move(bytes);
  return true;
}

bool read_options(const Json& json, TensorOptions& options) {
  const Json* update = field(json, "update");
  const Json* codec = field(json, "codec");
  const Json* close = field(json, "close");
  if (codec != nullptr && !read_codec(*codec, options.codec.emplace())) return false;
  if (close != nullptr && !read_close(*close, options.close)) return false;
  return update != nullptr && read_rule(*update, options.update) &&
         read_name(json, "mode", Mode::kSync, Mode::kEagerAsync, options.mode) &&
         read(json, "bound", options.bound) && read(json, "deterministic", options.deterministic) &&
         read(json, "bulk", options.bulk) && read(json, "shape", options.shape) &&
         read_name(json, "exchange", Exchange::kServers, Exchange::kAuto, options.exchange);
}

}  // namespace

Json json_of(const TensorSpec& spec) {
  const TensorOptions options = canonical(spec).options;
  Json json{{"dtype", name_of(spec.dtype)},
            {"elements", spec.elements},
            {"shape", options.shape},
            {"mode", name_of(options.mode)},
            {"bound", options.bound},
            {"update", json_of(options.update)},
            {"deterministic", options.deterministic},
            {"bulk", options.bulk},
            {"exchange", name_of(options.exchange)}};
  if (options.codec) json["codec"] = json_of(*options.codec);
  if (!options.close.waits_for_all()) {
    json["close"] = {{"quorum", options.close.quorum},
                     {"late", name_of(options.close.late)},
                     {"backups", options.close.backups}};
  }
  if (is_text(spec.name)) {
    json["name"] = spec.name;
  } else {
    json["name_hex"] = hex_of(spec.name);
  }
  return json;
}

Result<TensorSpec> spec_of(const Json& json) {
  TensorSpec spec;
  const bool whole = read_spec_name(json, spec.name) &&
                     read_name(json, "dtype", Dtype::kF32, Dtype::kI64, spec.dtype) &&
                     read(json, "elements", spec.elements) && read_options(json, spec.options);
  if (!whole) {
    return Status(Code::kMalformed,
                  fmt::format("tensor '{}' is not described as one: a field is missing, of another "
                              "type, or has a value that is not known",
                              spec.name));
  }
  if (Status status = check(spec); !status.ok()) return Status(Code::kMalformed, status.cause());
  return spec;
}

}  // namespace stretto::checkpoint
