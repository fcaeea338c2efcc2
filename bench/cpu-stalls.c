// Prints when a core did not run, although nothing may come before this program: a line "START LENGTH", in microseconds of the
// monotonic clock. On a virtual machine that is the hypervisor. Exits with 1 if it may not have that priority.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { napUs = 500, printedUsMin = 1000 };

static long now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000L + time.tv_nsec / 1000;
}

static void *watch(void *core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET((intptr_t)core, &cores);
  struct sched_param priority = {sched_get_priority_max(SCHED_FIFO)};
  if (sched_setaffinity(0, sizeof cores, &cores) != 0 || sched_setscheduler(0, SCHED_FIFO, &priority) != 0) exit(1);
  for (;;) {
    struct timespec nap = {0, napUs * 1000};
    long start_us = now_us();
    nanosleep(&nap, NULL);
    long us = now_us() - start_us;
    if (us > napUs + printedUsMin) printf("%ld %ld\n", start_us, us);
  }
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  for (intptr_t core = 1; core < cores; core++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch, (void *)core) != 0) return 1;
  }
  watch((void *)0);
}
