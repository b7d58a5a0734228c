// SPDX-License-Identifier: Apache-2.0
// What glibc had not yet before 2.33, and GCC's C++ library and headers ask for.
#define _GNU_SOURCE
#include <sys/stat.h>

#define HIDDEN __attribute__((visibility("hidden")))

// 0: atomic operations are never left out.
HIDDEN char __libc_single_threaded = 0;

int __xstat(int version, const char* path, struct stat* at);
int __lxstat(int version, const char* path, struct stat* at);
int __fxstat(int version, int file, struct stat* at);
enum { version = 1 };  // of struct stat on x86-64, whose two widths are one

HIDDEN int stat(const char* path, struct stat* at) { return __xstat(version, path, at); }
HIDDEN int lstat(const char* path, struct stat* at) { return __lxstat(version, path, at); }
HIDDEN int fstat(int file, struct stat* at) { return __fxstat(version, file, at); }
HIDDEN int fstat64(int file, struct stat64* at) { return __fxstat(version, file, (struct stat*)at); }
