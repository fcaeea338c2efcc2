// Preloaded, every fsync takes SYNC_US microseconds and does nothing else: a disk of a chosen speed.
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int wait_for_disk(void) {
  const char *text = getenv("SYNC_US");
  long us = text ? atol(text) : 0;
  // To sleep for no time still gives the processor away, for 50 us or more.
  if (us == 0) return 0;
  struct timespec time = {us / 1000000, us % 1000000 * 1000};
  while (nanosleep(&time, &time) != 0) {
  }
  return 0;
}

int fsync(int file) {
  (void)file;
  return wait_for_disk();
}

int fdatasync(int file) {
  (void)file;
  return wait_for_disk();
}
