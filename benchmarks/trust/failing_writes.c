/* Let the n-th change below a folder fail, once or from then on; preloaded by io_errors.py. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long due = 0, seen = 0;
static int error = 0, lasts = 0;
static char below[PATH_MAX] = "";

void failing_arm(const char *folder, long n, int code, int lasting) {
    strncpy(below, folder, sizeof below - 1);
    due = n;
    seen = 0;
    error = code;
    lasts = lasting;
}

long failing_seen(void) { return seen; }

static int counts(const char *path) {
    if (strncmp(path, below, strlen(below))) return 0;
    seen += 1;
    if (!due || (lasts ? seen < due : seen != due)) return 0;
    errno = error;
    return 1;
}

/* What is open: a write, a flush, a truncation. */
static int fails(int fd) {
    char link[64], path[PATH_MAX];
    if (!below[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return counts(path);
}

/* What has a name: it may be relative to a folder that is open, as shutil.rmtree asks. */
static int fails_at(int folder, const char *name) {
    char link[64], path[PATH_MAX];
    if (!below[0] || !name) return 0;
    if (name[0] == '/') return counts(name);
    if (folder == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
    ssize_t length = readlink(link, path, sizeof path - 2);
    if (length <= 0) return 0;
    snprintf(path + length, sizeof path - length, "/%s", name);
    return counts(path);
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = dlsym(RTLD_NEXT, #name)
#define CHANGES(flags) (((flags) & O_ACCMODE) != O_RDONLY || ((flags) & O_CREAT))
#define OPENS(name, folder, call, ...) int name(__VA_ARGS__, int flags, ...) { \
    va_list list; va_start(list, flags); mode_t mode = va_arg(list, mode_t); va_end(list); \
    REAL(name); return CHANGES(flags) && fails_at(folder, path) ? -1 : real call; }

ssize_t write(int fd, const void *data, size_t n) { REAL(write); return fails(fd) ? -1 : real(fd, data, n); }
ssize_t pwrite(int fd, const void *data, size_t n, off_t at) { REAL(pwrite); return fails(fd) ? -1 : real(fd, data, n, at); }
ssize_t pwrite64(int fd, const void *data, size_t n, off64_t at) { REAL(pwrite64); return fails(fd) ? -1 : real(fd, data, n, at); }
int fsync(int fd) { REAL(fsync); return fails(fd) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return fails(fd) ? -1 : real(fd); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return fails(fd) ? -1 : real(fd, n); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return fails(fd) ? -1 : real(fd, n); }

OPENS(open, AT_FDCWD, (path, flags, mode), const char *path)
OPENS(open64, AT_FDCWD, (path, flags, mode), const char *path)
OPENS(openat, folder, (folder, path, flags, mode), int folder, const char *path)
OPENS(openat64, folder, (folder, path, flags, mode), int folder, const char *path)
int rename(const char *from, const char *to) { REAL(rename); return fails_at(AT_FDCWD, to) ? -1 : real(from, to); }
int renameat(int a, const char *from, int b, const char *to) { REAL(renameat); return fails_at(b, to) ? -1 : real(a, from, b, to); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { REAL(renameat2); return fails_at(b, to) ? -1 : real(a, from, b, to, flags); }
int unlink(const char *path) { REAL(unlink); return fails_at(AT_FDCWD, path) ? -1 : real(path); }
int unlinkat(int folder, const char *path, int flags) { REAL(unlinkat); return fails_at(folder, path) ? -1 : real(folder, path, flags); }
int rmdir(const char *path) { REAL(rmdir); return fails_at(AT_FDCWD, path) ? -1 : real(path); }
int mkdir(const char *path, mode_t mode) { REAL(mkdir); return fails_at(AT_FDCWD, path) ? -1 : real(path, mode); }
int mkdirat(int folder, const char *path, mode_t mode) { REAL(mkdirat); return fails_at(folder, path) ? -1 : real(folder, path, mode); }
