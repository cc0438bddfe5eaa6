// launch_floor.c - Host time of a bare cuLaunchKernel
//
// Part of Tilewright, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What: nobody can launch faster than the driver's own call in a loop, so this is
// what launch costs are compared with. Built by host_side.py with the C compiler
// of the machine; needs no CUDA header.

#include <dlfcn.h>
#include <time.h>

typedef int (*LaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                            void **, void **);

/// Nanoseconds per launch of `function` with `arguments` (pointers to values), or
/// -1 where the driver is missing or refuses.
double launch_floor(void *function, unsigned threads, unsigned sharedBytes, void *stream, void **arguments, int count) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver)
    return -1;
  LaunchKernel launch = (LaunchKernel)dlsym(driver, "cuLaunchKernel");
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < count; ++i)
    if (launch(function, 1, 1, 1, threads, 1, 1, sharedBytes, stream, arguments, 0) != 0)
      return -1;
  clock_gettime(CLOCK_MONOTONIC, &end);
  return ((end.tv_sec - start.tv_sec) * 1e9 + (end.tv_nsec - start.tv_nsec)) / count;
}
