// Preloaded, it writes down each long wait of the process for its disk that keeps responses waiting: those for the WAL, and all of the
// main thread. A line "START LENGTH", in microseconds of the monotonic clock, in the file that DISK_WAITS names.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { recordedUsMin = 1000 };

static long now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

static int is_wal(int file) {
  char link[32], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path);
  return length > 4 && memcmp(path + length - 4, "-wal", 4) == 0;
}

static void record(int file, long start_us) {
  long us = now_us() - start_us;
  if (us < recordedUsMin || !(syscall(SYS_gettid) == getpid() || is_wal(file))) return;
  int waits = open(getenv("DISK_WAITS"), O_WRONLY | O_APPEND | O_CREAT, 0600);
  dprintf(waits, "%ld %ld\n", start_us, us);
  close(waits);
}

#define RECORDED(type, name, parameters, arguments)                  \
  type name parameters {                                             \
    static type(*original) parameters;                               \
    if (original == NULL) original = dlsym(RTLD_NEXT, #name);        \
    long start_us = now_us();                                        \
    type result = original arguments;                                \
    record(file, start_us);                                          \
    return result;                                                   \
  }

RECORDED(int, fsync, (int file), (file))
RECORDED(int, fdatasync, (int file), (file))
RECORDED(ssize_t, pwrite64, (int file, const void *bytes, size_t length, off_t at), (file, bytes, length, at))
