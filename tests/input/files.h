// SPDX-License-Identifier: Apache-2.0
// Files for the reader's tests: a folder that is removed with the test, samples whose bytes
// identify them, and archives as other programs write them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "input/formats/tfrecord.h"
#include "stretto/input.h"

namespace stretto::input::testing {

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Bytes that depend on every bit of `number`, `size` of them.
inline std::string content(std::uint64_t number, std::size_t size) {
  std::string text(size, '\0');
  std::uint64_t state = number * 2 + 1;
  for (char& letter : text) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    letter = static_cast<char>(state >> 56);
  }
  return text;
}

inline std::string tf_records(const std::vector<std::string>& payloads) {
  std::string file;
  for (const std::string& payload : payloads) file += text_of(make_tfrecord(bytes_of(payload)));
  return file;
}

/// A ustar header, as tar writes it.
inline std::string tar_header(const std::string& name, std::size_t size, char type = '0') {
  std::string block(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) {
    block.replace(at, text.size(), text);
  };
  char number[13];
  std::snprintf(number, sizeof number, "%011zo", size);
  put(0, name.substr(0, 100));
  put(100, "0000644");
  put(124, number);
  put(148, "        ");
  block[156] = type;
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char letter : block) sum += static_cast<unsigned char>(letter);
  std::snprintf(number, sizeof number, "%06o", sum);
  put(148, std::string(number, 7));
  return block;
}

inline std::string tar_file(const std::string& name, const std::string& bytes, char type = '0') {
  std::string file = tar_header(name, bytes.size(), type) + bytes;
  file.resize((file.size() + 511) / 512 * 512, '\0');
  return file;
}

inline std::string tar_end() { return std::string(1024, '\0'); }

/// A folder for one test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "stretto-input-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  std::string write(const std::string& name, std::string_view bytes) const {
    std::string path = path_ / name;
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::string path(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// All results of a reader until its end.
struct Told {
  std::vector<std::string> samples;
  std::vector<std::uint64_t> numbers;
  std::vector<std::string> errors;
  std::size_t ends = 0;
};

inline Told read_all(Reader& reader, std::size_t epochs = 1) {
  Told told;
  while (told.ends < epochs) {
    Result<std::optional<Sample>> sample = reader.next();
    if (!sample.ok()) {
      told.errors.push_back(sample.status().cause());
    } else if (!*sample) {
      ++told.ends;
    } else {
      told.samples.push_back(text_of((*sample)->bytes));
      told.numbers.push_back((*sample)->number);
    }
  }
  return told;
}

}  // namespace stretto::input::testing
