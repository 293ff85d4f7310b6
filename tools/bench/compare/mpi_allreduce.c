/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_Allreduce of f32 sums, again and again for some seconds: what tools/bench/compare/run holds
   Stretto against. Rank 0 prints one line of JSON. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { MOST = 1 << 20 };

static double cpu_seconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long bytes = argc > 1 ? atol(argv[1]) : 0;
  const double seconds = argc > 2 ? atof(argv[2]) : 0;
  const int count = (int)(bytes / 4);
  float* source = malloc((size_t)bytes + 4);
  float* target = malloc((size_t)bytes + 4);
  double* times = malloc(MOST * sizeof(double));
  if (count < 1 || !source || !target || !times) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int i = 0; i < count; ++i) source[i] = (float)(i % 1021 + rank);
  for (int i = 0; i < 3; ++i) {
    MPI_Allreduce(source, target, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  }
  for (int i = 0; i < count; ++i) {
    if (target[i] != (float)(size * (i % 1021) + size * (size - 1) / 2)) {
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = cpu_seconds();
  const double start = MPI_Wtime();
  int done = 0;
  for (int go = 1; go && done < MOST; ++done) {
    const double began = MPI_Wtime();
    MPI_Allreduce(source, target, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    times[done] = MPI_Wtime() - began;
    if (done % 8 == 7) {  /* Rank 0 says when it is enough. */
      go = MPI_Wtime() - start < seconds;
      MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
  }
  const double elapsed = MPI_Wtime() - start;
  double own = cpu_seconds() - before;
  double cpu = 0;
  MPI_Reduce(&own, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    const double gigabytes = (double)done * (double)bytes / 1e9;
    qsort(times, (size_t)done, sizeof(double), by_size);
    printf("{\"gb_per_s\": %.6g, \"p50_us\": %.6g, \"p99_us\": %.6g, \"cpu_s_per_gb\": %.6g}\n",
           gigabytes / elapsed, 1e6 * times[done / 2], 1e6 * times[done * 99L / 100],
           cpu / (gigabytes * size));
  }
  MPI_Finalize();
  return 0;
}
