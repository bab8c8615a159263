// What POSIX and Linux have and the C library of WASI only declares for others: signals, limits,
// users, terminals, and what two folders need to change places. The build of the npm package
// includes this before anything else, so that no other file knows of WASI; posix.cpp says what is
// behind it.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <csignal>
#include <cstdio>

extern "C" {

// --- Signals -------------------------------------------------------------------------------------

#define SA_RESETHAND 0x80000000

struct sigaction {
  void (*sa_handler)(int);
  int sa_flags;
  sigset_t sa_mask;
};

int sigemptyset(sigset_t* set);
int sigaction(int signal, const struct sigaction* action, struct sigaction* before);

// --- Limits, users, terminals --------------------------------------------------------------------

#define RLIMIT_AS 9
#define RLIM_INFINITY (~0ULL)
#define TIOCGWINSZ 0x5413

struct rlimit {
  unsigned long long rlim_cur, rlim_max;
};

struct winsize {
  unsigned short ws_row, ws_col;
};

int getrlimit(int resource, struct rlimit* limit);
uid_t geteuid();

// --- Files ---------------------------------------------------------------------------------------

#define RENAME_EXCHANGE 2
#define SYNC_FILE_RANGE_WRITE 2
#define STATX_TYPE 1
#define STATX_ATTR_MOUNT_ROOT 0x2000

struct statx {
  unsigned long long stx_attributes;
};

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags);
int sync_file_range(int descriptor, off_t from, off_t bytes, unsigned flags);
int statx(int folder, const char* path, int flags, unsigned mask, struct statx* status);

}  // extern "C"
