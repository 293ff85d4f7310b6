// SPDX-License-Identifier: Apache-2.0
// Decodes UTF-8 by the table of well-formed byte sequences (Unicode 15, table 3-7).
#include "common/text.h"

#include <fmt/core.h>

namespace stretto {
namespace {

unsigned byte_of(char c) { return static_cast<unsigned char>(c); }

/// Length in bytes of the first character of `text`; 0 if it is malformed.
std::size_t length_of_first(std::string_view text) {
  const unsigned first = byte_of(text.front());
  if (first < 0x80) return 1;
  std::size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_of(text[i]) & 0xc0U) != 0x80) return 0;
  }
  const unsigned second = byte_of(text[1]);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

/// C0, DEL, C1, the line and paragraph separators U+2028 and U+2029, and the bidirectional controls
/// U+202A to U+202E and U+2066 to U+2069.
bool is_control(std::string_view character) {
  const unsigned first = byte_of(character.front());
  if (character.size() == 1) return first < 0x20 || first == 0x7f;
  if (character.size() == 2) return first == 0xc2 && byte_of(character[1]) < 0xa0;
  if (character.size() != 3 || first != 0xe2) return false;
  const unsigned last = byte_of(character[2]);
  if (byte_of(character[1]) == 0x80) return last >= 0xa8 && last <= 0xae;
  return byte_of(character[1]) == 0x81 && last >= 0xa6 && last <= 0xa9;
}

}  // namespace

std::string printable(std::string_view text, Lines lines) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    const std::string_view character = text.substr(0, length == 0 ? 1 : length);
    text.remove_prefix(character.size());
    if (character == "\n" && lines == Lines::kKept) {
      shown += '\n';
    } else if (character == "\n") {
      shown += "\\n";
    } else if (character == "\t") {
      shown += "\\t";
    } else if (length == 0 || is_control(character)) {
      for (const char c : character) shown += fmt::format("\\x{:02x}", byte_of(c));
    } else {
      shown += character;
    }
  }
  return shown;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  return std::string(text.substr(0, bytes)) + "...";
}

}  // namespace stretto
