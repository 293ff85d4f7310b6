// SPDX-License-Identifier: Apache-2.0
// Parses users' codec options: BytePS's keys, texts, and rules by tensor name. Every error lists
// the valid alternatives.
#include "stretto/codec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

namespace stretto {
namespace {

constexpr std::size_t kMaxPolicyBytes = 64 << 10;

Status invalid(std::string cause) { return {Code::kInvalidArgument, std::move(cause)}; }

template <typename Number>
std::optional<Number> number_from(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<bool> truth_from(std::string_view text) {
  if (text == "true" || text == "True" || text == "1") return true;
  if (text == "false" || text == "False" || text == "0") return false;
  return std::nullopt;
}

// False for `first` or "0", true for `second` or "1" (BytePS's numbers); else none.
std::optional<bool> second_of(std::string_view text, std::string_view first,
                              std::string_view second) {
  if (text == first || text == "0") return false;
  if (text == second || text == "1") return true;
  return std::nullopt;
}

template <typename T, typename To>
bool put(const std::optional<T>& value, To& to) {
  if (value) to = static_cast<To>(*value);
  return value.has_value();
}

std::string_view user_key(std::string_view key) {
  constexpr std::pair<std::string_view, std::string_view> kWireKeys[] = {
      {"compressor_type", "compressor"},
      {"compressor_k", "k"},
      {"compressor_onebit_scaling", "scaling"},
      {"ef_type", "ef"},
      {"momentum_type", "momentum"},
      {"momentum_mu", "mu"},
      {"dithering_partition", "partition"},
      {"dithering_normalize", "normalize"}};
  for (const auto& [wire, user] : kWireKeys) {
    if (key == wire) return user;
  }
  return key;
}

bool set_codec(CodecSpec& spec, std::string_view value) {
  for (spec.codec = Codec::kNone; spec.codec <= Codec::kDithering;) {
    if (name_of(spec.codec) == value) return true;
    spec.codec = static_cast<Codec>(static_cast<int>(spec.codec) + 1);
  }
  return false;
}

/// A key, the values that it accepts, and its setter; false for any other value.
struct CodecKey {
  std::string_view name;
  std::string_view takes;
  bool (*set)(CodecSpec& spec, std::string_view value);
};

constexpr CodecKey kKeys[] = {
    {"compressor", "none, fp16, bf16, int8, onebit, topk, randomk or dithering", set_codec},
    {"k", "a number",
     [](CodecSpec& spec, std::string_view value) {
       return put(number_from<double>(value), spec.k);
     }},
    {"scaling", "true or false",
     [](CodecSpec& spec, std::string_view value) { return put(truth_from(value), spec.scaling); }},
    {"ef", "vanilla or none",
     [](CodecSpec& spec, std::string_view value) {
       return put(second_of(value, "none", "vanilla"), spec.error_feedback);
     }},
    {"momentum", "nesterov or none",
     [](CodecSpec& spec, std::string_view value) {
       return put(second_of(value, "none", "nesterov"), spec.momentum);
     }},
    {"mu", "a number",
     [](CodecSpec& spec, std::string_view value) {
       return put(number_from<double>(value), spec.mu);
     }},
    {"seed", "a whole number",
     [](CodecSpec& spec, std::string_view value) {
       return put(number_from<std::uint64_t>(value), spec.seed);
     }},
    {"partition", "linear or natural",
     [](CodecSpec& spec, std::string_view value) {
       return put(second_of(value, "linear", "natural"), spec.levels);
     }},
    {"normalize", "max or l2",
     [](CodecSpec& spec, std::string_view value) {
       return put(second_of(value, "max", "l2"), spec.norm);
     }},
};

Status set(CodecSpec& spec, std::string_view name, std::string_view value) {
  std::vector<std::string_view> names;
  for (const CodecKey& key : kKeys) {
    if (key.name == user_key(name)) {
      if (key.set(spec, value)) return {};
      return invalid(fmt::format("compression: {}={}, wanted {}", name, value, key.takes));
    }
    names.push_back(key.name);
  }
  return invalid(fmt::format("compression: '{}' is not known; there are {}, fp16", name,
                             fmt::join(names, ", ")));
}

bool is_key(std::string_view name) {
  const auto names_it = [name](const CodecKey& key) { return key.name == user_key(name); };
  return name == "fp16" || std::any_of(std::begin(kKeys), std::end(kKeys), names_it);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\n"), text.size());
  const std::size_t end = text.find_last_not_of(" \t\n") + 1;
  return text.substr(begin, std::max(begin, end) - begin);
}

bool fits(std::string_view pattern, std::string_view name) {
  std::size_t star = std::string_view::npos;  // The last '*'; `kept`: the index in `name` then.
  std::size_t kept = 0;
  std::size_t p = 0;
  for (std::size_t n = 0; n < name.size();) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      kept = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++kept;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

// Calls each(piece) for the pieces between separators, until one fails.
template <typename Each>
Status for_each_piece(std::string_view text, char separator, Each each) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (Status status = each(text.substr(0, end)); !status.ok()) return status;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

std::string CodecSpec::describe() const {
  std::string text(name_of(codec));
  if (codec == Codec::kTopk || codec == Codec::kRandomk) text += fmt::format("(k={})", k);
  if (codec == Codec::kDithering) {
    text += fmt::format("(k={} {} {})", k, levels == DitherLevels::kLinear ? "linear" : "natural",
                        norm == DitherNorm::kMax ? "max" : "l2");
  }
  if (codec == Codec::kRandomk || codec == Codec::kDithering) text += fmt::format(" seed={}", seed);
  if (codec == Codec::kOnebit && scaling) text += " scaled";
  if (error_feedback) text += " ef";
  if (momentum) text += fmt::format(" nesterov({})", mu);
  return text;
}

Status check(const CodecSpec& spec) {
  if (spec.codec > Codec::kDithering) {
    return invalid(fmt::format("codec {} is not known", static_cast<int>(spec.codec)));
  }
  if (spec.levels > DitherLevels::kNatural || spec.norm > DitherNorm::kL2) {
    return invalid("a codec's levels or norm are not known");
  }
  const bool chooses = spec.codec == Codec::kTopk || spec.codec == Codec::kRandomk;
  if (chooses && !(spec.k > 0 && spec.k <= 1e12)) {
    return invalid(
        fmt::format("compression: {} needs k: a fraction of the elements below 1, or "
                    "how many of each part; found {}",
                    name_of(spec.codec), spec.k));
  }
  if (spec.codec == Codec::kDithering &&
      !(spec.k >= 1 && spec.k <= kMaxDitherLevels && spec.k == std::floor(spec.k))) {
    return invalid(fmt::format("compression: dithering needs k, its levels: 1 to {}; found {}",
                               kMaxDitherLevels, spec.k));
  }
  if (spec.momentum && !(spec.mu >= 0 && spec.mu < 1)) {
    return invalid(fmt::format("compression: mu is {}, wanted at least 0 and below 1", spec.mu));
  }
  if (!std::isfinite(spec.k) || !std::isfinite(spec.mu)) {
    return invalid(
        fmt::format("compression: k is {} and mu is {}, wanted numbers", spec.k, spec.mu));
  }
  if (!spec.lossy() && (spec.error_feedback || spec.momentum)) {
    return invalid("compression: ef and momentum go with a compressor, and there is none");
  }
  return {};
}

Result<CodecSpec> codec_from(const std::map<std::string, std::string>& parameters) {
  CodecSpec spec;
  for (const auto& [key, value] : parameters) {
    if (key == "fp16") continue;  // Applies if no compressor is named; see below.
    if (Status status = set(spec, key, value); !status.ok()) return status;
  }
  if (const auto fp16 = parameters.find("fp16"); fp16 != parameters.end()) {
    const std::optional<bool> wanted = truth_from(fp16->second);
    if (!wanted) {
      return invalid(fmt::format("compression: fp16={}, wanted true or false", fp16->second));
    }
    if (*wanted && spec.lossy() && spec.codec != Codec::kFp16) {
      return invalid(fmt::format("compression: fp16 and compressor={} exclude one another",
                                 name_of(spec.codec)));
    }
    if (*wanted) spec.codec = Codec::kFp16;
  }
  const bool chosen = parameters.contains("fp16") || parameters.contains("compressor") ||
                      parameters.contains("compressor_type");
  if (!parameters.empty() && !chosen) {
    return invalid(fmt::format("compression: {}={} without a compressor; wanted compressor=NAME",
                               parameters.begin()->first, parameters.begin()->second));
  }
  if (Status status = check(spec); !status.ok()) return status;
  return spec;
}

Result<CodecSpec> codec_from(std::string_view text) {
  std::map<std::string, std::string> parameters;
  Status status = for_each_piece(text, ',', [&](std::string_view piece) -> Status {
    const std::size_t equals = piece.find('=');
    const bool named = equals != std::string_view::npos;
    const std::string key(named ? piece.substr(0, equals) : "compressor");
    const std::string value(named ? piece.substr(equals + 1) : piece);
    if (parameters.emplace(key, value).second) return {};
    return invalid(fmt::format("compression '{}' says {} twice", text, key));
  });
  if (!status.ok()) return status;
  return codec_from(parameters);
}

Result<CodecPolicy> CodecPolicy::parse(std::string_view text, std::uint64_t min_bytes) {
  if (text.size() > kMaxPolicyBytes) {
    return invalid(fmt::format("rules for codecs of {} bytes, at most {} are taken", text.size(),
                               kMaxPolicyBytes));
  }
  CodecPolicy policy;
  policy.min_bytes_ = min_bytes;
  Status status = for_each_piece(text, ';', [&](std::string_view piece) -> Status {
    const std::string_view rule = trimmed(piece);
    if (rule.empty()) return invalid(fmt::format("there is an empty rule in '{}'", text));
    // "pattern=codec...". Without a pattern the first '=' follows a ',' or a key, or is absent.
    const std::size_t equals = rule.find('=');
    const bool patterned = equals < rule.find(',') && !is_key(rule.substr(0, equals));
    Result<CodecSpec> spec = codec_from(patterned ? rule.substr(equals + 1) : rule);
    if (!spec.ok()) return spec.status();
    policy.rules_.emplace_back(patterned ? rule.substr(0, equals) : "*", *spec);
    return {};
  });
  if (!status.ok()) return status;
  return policy;
}

CodecSpec CodecPolicy::choose(std::string_view name, Dtype dtype, std::uint64_t bytes) const {
  if (dtype != Dtype::kF32 || bytes < min_bytes_) return {};
  for (const auto& [pattern, spec] : rules_) {
    if (fits(pattern, name)) return spec;
  }
  return {};
}

}  // namespace stretto
