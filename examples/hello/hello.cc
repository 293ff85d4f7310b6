// SPDX-License-Identifier: Apache-2.0
// Every worker pushes a vector, and pulls the sum over all workers.
#include <stretto/worker.h>

#include <cstdio>
#include <vector>

int main() {
  stretto::Worker worker = stretto::Worker::join().or_exit();
  stretto::Tensor tensor = worker.declare("hello", stretto::Dtype::kF32, 4).or_exit();

  std::vector<float> mine(4, static_cast<float>(worker.rank() + 1)), sum(4);
  worker.push(tensor, mine).wait().or_exit();
  worker.pull(tensor, sum).wait().or_exit();

  std::printf("worker %u of %u: sum = %g\n", worker.rank(), worker.size(), sum[0]);
  worker.leave().or_exit();
}
