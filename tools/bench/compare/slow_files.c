// SPDX-License-Identifier: Apache-2.0
// A folder as a file system far away would show it: each read takes a round trip, and all of them
// share one link. For benchmarks of reading, which are to know what they read from.
//
//   slow_files FOLDER ROUND_TRIP_MS LINK_MB_PER_S MOUNT_POINT [options of FUSE]
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { kMostUnderWay = 256 };
static const double kForever = 86400;

static const char* folder;
static double round_trip_s;
static double link_bytes_per_s;
static pthread_mutex_t link_mutex = PTHREAD_MUTEX_INITIALIZER;
static double link_free;  // When the link has sent all that was asked for so far.

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

// Half a round trip there, a turn on the link, half a round trip back.
static void travel(size_t bytes) {
  pthread_mutex_lock(&link_mutex);
  const double reached = now() + round_trip_s / 2;
  link_free = (link_free > reached ? link_free : reached) + (double)bytes / link_bytes_per_s;
  const double back = link_free + round_trip_s / 2;
  pthread_mutex_unlock(&link_mutex);
  const struct timespec until = {(time_t)back, (long)(1e9 * (back - (double)(time_t)back))};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static int there(const char* path, char* real, size_t bytes) {
  const int length = snprintf(real, bytes, "%s%s", folder, path);
  return length > 0 && (size_t)length < bytes ? 0 : -ENAMETOOLONG;
}

static void* begin(struct fuse_conn_info* connection, struct fuse_config* config) {
  connection->max_background = kMostUnderWay;
  connection->congestion_threshold = kMostUnderWay;
  connection->max_readahead = 1 << 20;
  config->entry_timeout = config->attr_timeout = kForever;
  return NULL;
}

static int look(const char* path, struct stat* about, struct fuse_file_info* file) {
  (void)file;
  char real[4096];
  const int error = there(path, real, sizeof real);
  if (error != 0) return error;
  return lstat(real, about) == 0 ? 0 : -errno;
}

static int list(const char* path, void* names, fuse_fill_dir_t fill, off_t offset,
                struct fuse_file_info* file, enum fuse_readdir_flags flags) {
  (void)offset, (void)file, (void)flags;
  char real[4096];
  const int error = there(path, real, sizeof real);
  if (error != 0) return error;
  DIR* entries = opendir(real);
  if (entries == NULL) return -errno;
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    fill(names, entry->d_name, NULL, 0, 0);
  }
  closedir(entries);
  return 0;
}

static int open_file(const char* path, struct fuse_file_info* file) {
  char real[4096];
  const int error = there(path, real, sizeof real);
  if (error != 0) return error;
  const int opened = open(real, O_RDONLY | O_CLOEXEC);
  if (opened < 0) return -errno;
  file->fh = (uint64_t)opened;
  return 0;
}

static int read_file(const char* path, char* into, size_t size, off_t offset,
                     struct fuse_file_info* file) {
  (void)path;
  const ssize_t got = pread((int)file->fh, into, size, offset);
  if (got < 0) return -errno;
  if (got > 0) travel((size_t)got);
  return (int)got;
}

static int close_file(const char* path, struct fuse_file_info* file) {
  (void)path;
  close((int)file->fh);
  return 0;
}

int main(int count, char** words) {
  if (count < 5) {
    fprintf(stderr, "usage: %s FOLDER ROUND_TRIP_MS LINK_MB_PER_S MOUNT_POINT [options]\n",
            words[0]);
    return 2;
  }
  folder = words[1];
  round_trip_s = strtod(words[2], NULL) / 1e3;
  link_bytes_per_s = strtod(words[3], NULL) * 1e6;
  if (round_trip_s <= 0 || link_bytes_per_s <= 0) return 2;
  const struct fuse_operations operations = {.init = begin,
                                             .getattr = look,
                                             .readdir = list,
                                             .open = open_file,
                                             .read = read_file,
                                             .release = close_file};
  words[3] = words[0];
  return fuse_main(count - 3, words + 3, &operations, NULL);
}
