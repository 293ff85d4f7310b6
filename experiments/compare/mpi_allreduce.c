/* SPDX-License-Identifier: Apache-2.0 */
/* MPI's allreduce of f32 sums for some seconds, with some tensors under way at a time: what
   experiments/compare/run holds Stretto against. Rank 0 prints one line of JSON.

     mpi_allreduce BYTES SECONDS INFLIGHT

   One tensor is MPI_Allreduce, several are MPI_Iallreduce, waited for in order. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { MOST = 1 << 20, MOST_INFLIGHT = 64, AT_LEAST = 16, TRIAL = 8 };

static struct {
  float* source;
  float* target;
  double began;
  MPI_Request request;
} tensors[MOST_INFLIGHT];
static int inflight;
static int count;

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

static void begin(int which) {
  tensors[which].began = MPI_Wtime();
  if (inflight == 1) {
    MPI_Allreduce(tensors[0].source, tensors[0].target, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  } else {
    MPI_Iallreduce(tensors[which].source, tensors[which].target, count, MPI_FLOAT, MPI_SUM,
                   MPI_COMM_WORLD, &tensors[which].request);
  }
}

/* So many, of each the seconds from its call to its end. */
static void exchange(int rounds, double* times) {
  for (int number = 0; number < rounds + inflight; ++number) {
    const int which = number % inflight;
    if (number >= inflight) {
      if (inflight > 1) MPI_Wait(&tensors[which].request, MPI_STATUS_IGNORE);
      times[number - inflight] = MPI_Wtime() - tensors[which].began;
    }
    if (number < rounds) begin(which);
  }
}

/* How many rounds take so long, as rank 0 sees it: nobody is asked meanwhile. */
static int agreed_rounds(double seconds, double* times) {
  const double start = MPI_Wtime();
  exchange(TRIAL, times);
  const double wanted = seconds / ((MPI_Wtime() - start) / TRIAL);
  int rounds = wanted < AT_LEAST ? AT_LEAST : wanted > MOST ? MOST : (int)wanted;
  MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return rounds;
}

static void make_tensors(int rank) {
  const size_t bytes = (size_t)count * sizeof(float);
  for (int which = 0; which < inflight; ++which) {
    tensors[which].source = malloc(bytes);
    tensors[which].target = malloc(bytes);
    if (!tensors[which].source || !tensors[which].target) MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < count; ++i) tensors[which].source[i] = (float)(i % 1021 + rank);
  }
}

static void check(int size) {
  for (int which = 0; which < inflight; ++which) {
    for (int i = 0; i < count; ++i) {
      if (tensors[which].target[i] != (float)(size * (i % 1021) + size * (size - 1) / 2)) {
        MPI_Abort(MPI_COMM_WORLD, 3);
      }
    }
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long bytes = argc > 1 ? atol(argv[1]) : 0;
  const double seconds = argc > 2 ? atof(argv[2]) : 0;
  inflight = argc > 3 ? atoi(argv[3]) : 1;
  count = (int)(bytes / 4);
  double* times = malloc((MOST + MOST_INFLIGHT) * sizeof(double));
  if (count < 1 || inflight < 1 || inflight > MOST_INFLIGHT || !times) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  make_tensors(rank);
  exchange(inflight, times);
  check(size);
  const int rounds = agreed_rounds(seconds, times);
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = cpu_seconds();
  const double start = MPI_Wtime();
  exchange(rounds, times);
  const double elapsed = MPI_Wtime() - start;
  double own = cpu_seconds() - before;
  double cpu = 0;
  MPI_Reduce(&own, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    const double gigabytes = (double)rounds * (double)bytes / 1e9;
    qsort(times, (size_t)rounds, sizeof(double), by_size);
    printf("{\"gb_per_s\": %.6g, \"p50_us\": %.6g, \"p99_us\": %.6g, \"cpu_s_per_gb\": %.6g}\n",
           gigabytes / elapsed, 1e6 * times[rounds / 2], 1e6 * times[rounds * 99L / 100],
           cpu / (gigabytes * size));
  }
  MPI_Finalize();
  return 0;
}
