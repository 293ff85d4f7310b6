// SPDX-License-Identifier: Apache-2.0
// Writes the golden checkpoint (tests/checkpoint/golden_checkpoint.h) to a folder that is not
// there:
//   build/tests/checkpointing tests/checkpoint/golden
#include <cstdio>

#include "common/files/real_disk.h"
#include "tests/checkpoint/golden_checkpoint.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: checkpointing FOLDER\n", stderr);
    return 2;
  }
  stretto::RealDisk disk;
  stretto::checkpoint::write_golden(disk, argv[1]).or_exit();
  return 0;
}
