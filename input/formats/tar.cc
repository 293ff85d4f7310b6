// SPDX-License-Identifier: Apache-2.0
// Trusts headers only with a valid checksum, and sizes only if the archive has room for them.
#include "input/formats/tar.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

namespace stretto::input {
namespace {

constexpr std::size_t kMostNameBytes = std::size_t{64} << 10;   // Of a pax header or a long name.
constexpr std::size_t kMostHeaders = 64;                        // Extended headers before one file.
constexpr std::uint64_t kMostWrong = std::uint64_t{128} << 10;  // Of a bad header, re-read later.

struct Field {
  std::size_t offset;
  std::size_t bytes;
};
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kLink{157, 100};
constexpr Field kPrefix{345, 155};
constexpr std::size_t kType = 156;
constexpr Field kMagic{257, 5};

std::string_view text_of(std::span<const std::byte> block, Field field) {
  const std::string_view all(reinterpret_cast<const char*>(block.data()) + field.offset,
                             field.bytes);
  return all.substr(0, all.find('\0'));
}

// Octal digits between blanks; or, with the highest bit set, big-endian binary (GNU).
std::optional<std::uint64_t> number_in(std::span<const std::byte> block, Field field) {
  const auto bytes = block.subspan(field.offset, field.bytes);
  if ((bytes[0] & std::byte{0x80}) != std::byte{0}) {
    std::uint64_t value = std::to_integer<std::uint64_t>(bytes[0] & std::byte{0x7f});
    for (const std::byte byte : bytes.subspan(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    return value;
  }
  std::string_view digits = text_of(block, field);
  while (!digits.empty() && digits.front() == ' ') digits.remove_prefix(1);
  while (!digits.empty() && digits.back() == ' ') digits.remove_suffix(1);
  if (digits.empty()) return std::uint64_t{0};
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

bool checksum_is_right(std::span<const std::byte> block) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < kTarBlock; ++i) {
    const bool in_checksum = i >= kChecksum.offset && i < kChecksum.offset + kChecksum.bytes;
    sum += in_checksum ? ' ' : std::to_integer<std::uint64_t>(block[i]);
  }
  const std::optional<std::uint64_t> stored = number_in(block, kChecksum);
  return stored && *stored == sum;
}

bool is_zero(std::span<const std::byte> block) {
  return std::ranges::all_of(block, [](std::byte byte) { return byte == std::byte{0}; });
}

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

// The attributes that extended headers give the next file.
struct Extended {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool sparse = false;
};

// Parses the records of a pax header: "length key=value\n". False if they are malformed.
bool read_pax(std::string_view text, Extended& extended) {
  while (!text.empty() && text.front() != '\0') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || digits >= text.size() || text[digits] != ' ' ||
        length > text.size() || length < digits + 2 || text[length - 1] != '\n') {
      return false;
    }
    const std::string_view record = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view key = record.substr(0, equals);
    const std::string_view value = record.substr(equals + 1);
    if (key == "path") extended.path = std::string(value);
    if (key.starts_with("GNU.sparse.")) extended.sparse = true;
    if (key == "size") {
      std::uint64_t size = 0;
      const auto [stop, wrong] = std::from_chars(value.data(), value.data() + value.size(), size);
      if (wrong != std::errc() || stop != value.data() + value.size()) return false;
      extended.size = size;
    }
  }
  return true;
}

std::string path_of(std::span<const std::byte> block) {
  const std::string_view name = text_of(block, kName);
  const bool ustar = text_of(block, kMagic) == "ustar" && block[262] == std::byte{0};
  const std::string_view prefix = ustar ? text_of(block, kPrefix) : std::string_view();
  return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

Status malformed(std::string words) { return {Code::kMalformed, std::move(words)}; }

// The types of extended headers: pax, global pax, Solaris' pax, GNU's long names.
bool is_extended(char type) {
  return type == 'x' || type == 'g' || type == 'X' || type == 'L' || type == 'K';
}

// Reads an extended header ('x' pax, 'L' long name); the reader needs no other type.
Status read_extended(Glimpse& glimpse, char type, std::uint64_t data, std::uint64_t size,
                     Extended& extended) {
  if (type != 'x' && type != 'L') return {};
  Result<std::span<const std::byte>> bytes = glimpse.at(data, size);
  if (!bytes.ok()) return bytes.status();
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  if (type == 'L') {
    extended.path = std::string(text.substr(0, text.find('\0')));
  } else if (!read_pax(text, extended)) {
    return malformed("a pax header is not made of 'length key=value' lines");
  }
  return {};
}

// A valid header, or the end of the archive (a zero block).
struct TarHeader {
  bool end = false;
  char type = '0';
  std::uint64_t size = 0;
  std::string path;
  std::string link;  // Target of a link.
};

Result<TarHeader> read_header(Glimpse& glimpse, std::uint64_t offset) {
  Result<std::span<const std::byte>> block = glimpse.at(offset, kTarBlock);
  if (!block.ok()) return block.status();
  if (block->empty()) return TarHeader{.end = true, .path = {}, .link = {}};
  if (block->size() < kTarBlock) {
    return malformed(fmt::format("the file ends {} bytes into a tar header of {}: it is truncated",
                                 block->size(), kTarBlock));
  }
  if (is_zero(*block)) return TarHeader{.end = true, .path = {}, .link = {}};
  if (!checksum_is_right(*block)) {
    return malformed(
        "the checksum of a tar header is wrong; this is no tar file, or it was changed");
  }
  const std::optional<std::uint64_t> size = number_in(*block, kSize);
  if (!size) return malformed("the size in a tar header is no number");
  const auto type = std::to_integer<char>((*block)[kType]);
  return TarHeader{.end = false,
                   .type = type,
                   .size = *size,
                   .path = path_of(*block),
                   .link = std::string(text_of(*block, kLink))};
}

// Links, devices, folders and pipes have no bytes, whatever their size field.
bool has_no_bytes(char type) { return type >= '1' && type <= '6'; }
bool is_link(char type) { return type == '1' || type == '2'; }
bool is_regular(char type) { return type == '0' || type == '\0' || type == '7'; }

// Why a file's bytes are unavailable; empty if they are available.
std::string refusal_of(const TarHeader& header, const std::string& path, bool sparse) {
  if (is_link(header.type)) {
    return fmt::format(
        "'{}' is a link to '{}', without bytes; write the archive with tar's "
        "--dereference and --hard-dereference",
        path, header.link);
  }
  if (header.type == 'S' || sparse) {
    return fmt::format("'{}' is a sparse file; write the archive without tar's --sparse", path);
  }
  return {};
}

struct MemberName {
  std::string_view key;
  std::string_view extension;
};

// "a/b/c.seg.png": "a/b/c" and "seg.png". None for files that WebDataset does not use.
std::optional<MemberName> split(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = path.find('.', base);
  if (dot == std::string_view::npos || dot == base) return std::nullopt;
  const std::string_view top = path.substr(0, path.find('/'));
  if (top.size() >= 4 && top.starts_with("__") && top.ends_with("__")) return std::nullopt;
  return MemberName{path.substr(0, dot), path.substr(dot + 1)};
}

// Names of parts in lower case, as in WebDataset, but without its case changes beyond ASCII.
std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& letter : lower) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lower;
}

// Groups adjacent files with one key into samples.
class Grouping {
 public:
  explicit Grouping(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}

  void add(const TarEntry& entry) {
    const std::optional<MemberName> name = split(entry.path);
    const bool hidden = std::exchange(next_is_hidden_, false);
    if (!name) return;
    if (files_ == 0 || name->key != key_) {
      end(false);
      // If a file was lost between two files of one key, samples have several files.
      if (suspect_ && name->key == key_) most_files_ = std::max<std::size_t>(most_files_, 2);
      key_ = name->key;
      first_ = entry.first;
      first_data_ = entry.data;
    }
    hidden_ = hidden_ || hidden;
    ++files_;
    // A file that is too large or unavailable contributes only its header, which is enough for the
    // error; the files after it are not needed.
    if (cut_) return;
    const bool readable = entry.whole && entry.refused.empty() && entry.next - first_ <= max_bytes_;
    last_ = readable ? entry.next : std::max(last_, entry.data);
    cut_ = !readable;
  }
  // Adds a malformed header. With `hides` it would have described the next file.
  void add_wrong(Extent extent, bool hides) {
    end(true);
    found_.push_back({extent, false});
    suspect_ = true;
    next_is_hidden_ = hides;
  }
  // The last sample of an archive without an end may be truncated. It then keeps only its first
  // header, which is an error.
  std::vector<Extent> take(bool has_end) {
    if (!has_end && files_ < most_files_) last_ = first_data_;
    end(false);
    std::vector<Extent> extents;
    for (const Found& found : found_) {
      if (!found.suspect || most_files_ <= 1) extents.push_back(found.extent);
    }
    return extents;
  }

 private:
  struct Found {
    Extent extent;
    bool suspect;  // It may be part of a sample.
  };

  void end(bool wrong_follows) {
    if (files_ > 0) {
      most_files_ = std::max(most_files_, files_);
      if (!hidden_) found_.push_back({{first_, last_ - first_}, suspect_ || wrong_follows});
      suspect_ = hidden_ = false;
    }
    files_ = 0;
    last_ = 0;
    cut_ = false;
  }

  std::uint64_t max_bytes_;
  std::vector<Found> found_;
  std::size_t most_files_ = 0;  // Largest number of files of a sample.
  std::string key_;
  std::size_t files_ = 0;  // Files of the open sample.
  std::uint64_t first_ = 0;
  std::uint64_t first_data_ = 0;
  std::uint64_t last_ = 0;
  bool cut_ = false;
  bool suspect_ = false;  // A malformed header came right before it,
  bool hidden_ = false;   // and hides the name of one of its files.
  bool next_is_hidden_ = false;
};

// Offset after a malformed header: by its size if it leads to a header or the end, else by a block.
Result<std::uint64_t> after_wrong(Glimpse& glimpse, std::uint64_t offset) {
  const std::uint64_t left = glimpse.size() - offset;
  Result<std::span<const std::byte>> block = glimpse.at(offset, kTarBlock);
  if (!block.ok()) return block.status();
  if (left <= kTarBlock || block->size() < kTarBlock) return glimpse.size();
  const std::uint64_t size = number_in(*block, kSize).value_or(0);
  const std::uint64_t data = offset + kTarBlock;
  if (size == 0 || size > left - kTarBlock) return data;
  const std::uint64_t next = data + padded(size);
  if (next >= glimpse.size()) return next == glimpse.size() ? next : data;
  Result<std::span<const std::byte>> there = glimpse.at(next, kTarBlock);
  if (!there.ok()) return there.status();
  const bool right = there->size() == kTarBlock && (is_zero(*there) || checksum_is_right(*there));
  return right ? next : data;
}

// Whether a malformed header is an extended header, which describes the file after it.
Result<bool> hides(Glimpse& glimpse, std::uint64_t offset) {
  Result<std::span<const std::byte>> block = glimpse.at(offset, kTarBlock);
  if (!block.ok()) return block.status();
  return block->size() == kTarBlock && is_extended(std::to_integer<char>((*block)[kType]));
}

}  // namespace

Result<std::optional<TarEntry>> next_tar_entry(Glimpse& glimpse, std::uint64_t offset) {
  std::uint64_t first = offset;
  Extended extended;
  for (std::size_t headers = 0; headers < kMostHeaders;) {
    Result<TarHeader> header = read_header(glimpse, offset);
    if (!header.ok()) return header.status();
    if (header->end) return std::optional<TarEntry>();
    const char type = header->type;
    const std::uint64_t data = offset + kTarBlock;
    const bool is_file = is_regular(type) || is_link(type) || type == 'S';
    std::uint64_t size = has_no_bytes(type) ? 0 : header->size;
    if (is_regular(type) && extended.size) size = *extended.size;
    if (is_extended(type) && size > kMostNameBytes) {
      return malformed(fmt::format("an extended header of {} bytes; more than {} are refused", size,
                                   kMostNameBytes));
    }
    const bool whole = size <= glimpse.size() && data <= glimpse.size() - size;
    if (!whole && !is_file)
      return malformed("the archive ends in an extended header: it is truncated");
    offset = whole ? std::min(data + padded(size), glimpse.size()) : glimpse.size();
    if (is_file) {
      std::string path = extended.path.value_or(std::move(header->path));
      std::string refused = refusal_of(*header, path, extended.sparse);
      return std::optional(TarEntry{.path = std::move(path),
                                    .refused = std::move(refused),
                                    .first = first,
                                    .data = data,
                                    .bytes = size,
                                    .next = offset,
                                    .whole = whole});
    }
    const Status status = read_extended(glimpse, type, data, size, extended);
    if (!status.ok()) return status;
    if (is_extended(type)) {
      ++headers;
    } else {  // A folder or the like: the extended headers described it.
      extended = {};
      first = offset;
    }
  }
  return malformed(fmt::format("more than {} headers before a file", kMostHeaders));
}

Result<std::vector<Extent>> scan_tar(Source& source, std::uint64_t max_bytes) {
  Glimpse glimpse(source);
  Grouping grouping(max_bytes);
  bool lost = false;  // After a malformed header, until a valid one.
  bool has_end = false;
  for (std::uint64_t offset = 0; offset < glimpse.size();) {
    Result<std::optional<TarEntry>> entry = next_tar_entry(glimpse, offset);
    has_end = entry.ok() && !*entry;
    if (has_end && !lost) break;
    if (entry.ok() && *entry) {
      grouping.add(**entry);
      offset = (*entry)->next;
      lost = false;
      continue;
    }
    if (!entry.ok() && entry.status().code() != Code::kMalformed) return entry.status();
    if (!entry.ok() && !lost) {
      const Result<bool> hiding = hides(glimpse, offset);
      if (!hiding.ok()) return hiding.status();
      const std::uint64_t most =
          std::min(kMostWrong, std::max<std::uint64_t>(max_bytes, kTarBlock));
      grouping.add_wrong({offset, std::min(most, glimpse.size() - offset)}, *hiding);
    }
    lost = true;
    const Result<std::uint64_t> next = after_wrong(glimpse, offset);
    if (!next.ok()) return next.status();
    offset = *next;
  }
  return grouping.take(has_end);
}

Result<TarSample> tar_sample(std::span<const std::byte> bytes, std::uint64_t max_bytes) {
  MemorySource source(bytes);
  Glimpse glimpse(source);
  std::vector<TarEntry> entries;
  for (std::uint64_t offset = 0; offset < bytes.size();) {
    Result<std::optional<TarEntry>> entry = next_tar_entry(glimpse, offset);
    if (!entry.ok()) return entry.status();
    if (!*entry) break;
    if (!(*entry)->refused.empty()) return malformed(std::move((*entry)->refused));
    if (!(*entry)->whole) {
      return malformed(
          fmt::format("'{}' has {} bytes, and there are not so many: the archive is "
                      "truncated, or its sample has more than the limit of {} "
                      "(max_sample_bytes)",
                      (*entry)->path, (*entry)->bytes, max_bytes));
    }
    offset = (*entry)->next;
    if (split((*entry)->path)) entries.push_back(*std::move(*entry));
  }
  if (entries.empty()) return malformed("no file where one was when the archive was indexed");
  auto names = std::make_shared<std::vector<std::string>>();
  names->push_back(std::string(split(entries.front().path)->key));
  for (const TarEntry& entry : entries) {
    std::string extension = lower_case(split(entry.path)->extension);
    if (std::find(names->begin() + 1, names->end(), extension) != names->end()) {
      return malformed(fmt::format(
          "'{}' is a second '{}' of sample '{}', and a sample has one file of each extension, in "
          "lower case; rename it, or write the archive without it",
          entry.path, extension, names->front()));
    }
    names->push_back(std::move(extension));
  }
  TarSample sample{.key = names->front(), .members = {}, .names = names};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    sample.members.emplace_back((*names)[i + 1], bytes.subspan(entries[i].data, entries[i].bytes));
  }
  return sample;
}

}  // namespace stretto::input
