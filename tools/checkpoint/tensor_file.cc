// SPDX-License-Identifier: Apache-2.0
// safetensors: github.com/huggingface/safetensors, "Format"; numpy: NEP 1, and numpy.lib.format.
#include "tools/checkpoint/tensor_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "checkpoint/json_fields.h"

namespace stretto::checkpoint {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMostDimensions = 32;
// Limit for untrusted descriptions; programs have fewer.
constexpr std::size_t kMostSizes = 1024;
// With a number and ".npy" appended, a name stays below the file system limit of 255 bytes.
constexpr std::size_t kMostNameBytes = 200;

// The numbers in "2x3".
std::optional<std::vector<std::uint64_t>> dimensions_of(std::string_view word) {
  std::vector<std::uint64_t> sizes;
  const char* at = word.data();
  const char* const end = word.data() + word.size();
  for (;;) {
    std::uint64_t size = 0;
    const auto [stop, error] = std::from_chars(at, end, size);
    if (error != std::errc() || sizes.size() == kMostSizes) return std::nullopt;
    sizes.push_back(size);
    if (stop == end) return sizes;
    if (*stop != 'x') return std::nullopt;
    at = stop + 1;
  }
}

bool has_elements(const std::vector<std::uint64_t>& sizes, std::uint64_t elements) {
  if (std::ranges::find(sizes, 0U) != sizes.end()) return elements == 0;
  std::uint64_t product = 1;
  for (const std::uint64_t size : sizes) {
    if (size > elements / product) return false;
    product *= size;
  }
  return product == elements;
}

// The sizes in the first word that is a shape of `elements` elements.
std::optional<std::vector<std::uint64_t>> sizes_in(std::string_view description,
                                                   std::uint64_t elements) {
  while (!description.empty()) {
    const std::size_t space = std::min(description.find(' '), description.size());
    std::optional<std::vector<std::uint64_t>> sizes = dimensions_of(description.substr(0, space));
    if (sizes && has_elements(*sizes, elements)) return sizes;
    description.remove_prefix(std::min(space + 1, description.size()));
  }
  return std::nullopt;
}

std::string_view safetensors_type(Dtype dtype) {
  constexpr std::string_view kTypes[] = {"", "F32", "F64", "F16", "BF16", "I8", "U8", "I32", "I64"};
  return kTypes[static_cast<std::size_t>(dtype)];
}

std::string_view npy_type(Dtype dtype) {
  constexpr std::string_view kTypes[] = {"",    "<f4", "<f8", "<f2", "<f4",
                                         "|i1", "|u1", "<i4", "<i8"};
  return kTypes[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::vector<std::uint64_t> shape_of(std::string_view description, std::uint64_t elements) {
  std::optional<std::vector<std::uint64_t>> sizes = sizes_in(description, elements);
  if (sizes && sizes->size() <= kMostDimensions) return *std::move(sizes);
  return {elements};
}

std::vector<std::uint64_t> shape_of(const TensorSpec& spec) {
  return shape_of(spec.options.shape, spec.elements);
}

bool shape_fits(std::string_view description, std::uint64_t elements) {
  return description.empty() || sizes_in(description, elements).has_value();
}

std::string percent_encoded(std::string_view name) {
  std::string safe;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '_' || c == '-' || (c == '.' && !safe.empty());
    if (plain) {
      safe += c;
    } else {
      safe += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return safe;
}

// '~' occurs only in shortened names, each with a different number.
std::vector<std::string> npy_names(const std::vector<std::string_view>& tensors) {
  std::vector<std::string> names;
  std::size_t cut = 0;
  for (const std::string_view tensor : tensors) {
    std::string name = percent_encoded(tensor);
    if (name.size() > kMostNameBytes) {
      name = fmt::format("{}~{}", name.substr(0, kMostNameBytes), ++cut);
    }
    names.push_back(name + ".npy");
  }
  return names;
}

std::vector<std::string> safetensors_keys(const std::vector<std::string_view>& tensors) {
  std::set<std::string_view> all(tensors.begin(), tensors.end());
  std::vector<std::string> keys;
  std::size_t taken = 0;
  for (const std::string_view tensor : tensors) {
    std::string key(tensor);
    if (key == "__metadata__" || !is_text(key)) {
      key = "%" + percent_encoded(tensor);  // These are unique.
      while (all.contains(key)) key += fmt::format("~{}", ++taken);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::string> safetensors_head(const std::vector<SafetensorsItem>& items,
                                     const std::map<std::string, std::string>& metadata) {
  Json json{{"__metadata__", metadata}};
  for (const SafetensorsItem& item : items) {
    json[item.key] = {{"dtype", safetensors_type(item.dtype)},
                      {"shape", item.shape},
                      {"data_offsets", {item.begin, item.end}}};
  }
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');
  if (text.size() > kMostSafetensorsHead) {
    return Status(Code::kResource,
                  fmt::format("{} tensors need a head of {} bytes, and readers of safetensors take "
                              "at most {}; use --format npy",
                              items.size(), text.size(), kMostSafetensorsHead));
  }
  const std::uint64_t length = text.size();
  std::string head(sizeof length, '\0');
  std::memcpy(head.data(), &length, sizeof length);
  return head + text;
}

std::string npy_head(Dtype dtype, const std::vector<std::uint64_t>& shape) {
  std::string sizes;
  for (const std::uint64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() == 1) {
    sizes.resize(sizes.size() - 1);  // "(3,)"
  } else {
    sizes.resize(sizes.size() - 2);
  }
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}",
                                 npy_type(dtype), sizes);
  constexpr std::size_t kBefore = 10;  // Magic, version, length.
  constexpr std::size_t kAligned = 64;
  text.append((kAligned - (kBefore + text.size() + 1) % kAligned) % kAligned, ' ');
  text += '\n';
  const auto length = static_cast<std::uint16_t>(text.size());
  std::string head("\x93NUMPY\x01\x00", 8);
  head.append(sizeof length, '\0');
  std::memcpy(head.data() + 8, &length, sizeof length);
  return head + text;
}

// The lower half of an f32 is zero, and is written with the first byte of the upper half.
std::vector<std::byte> widened(std::span<const std::byte> bf16, bool from_middle) {
  std::vector<std::byte> f32;
  f32.reserve(2 * bf16.size() + 1);
  bool is_first = !from_middle;
  for (const std::byte byte : bf16) {
    if (is_first) f32.resize(f32.size() + 2);
    f32.push_back(byte);
    is_first = !is_first;
  }
  return f32;
}

}  // namespace stretto::checkpoint
