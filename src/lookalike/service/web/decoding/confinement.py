"""Take from a process what decoding does not need: memory, files, the network, other programs."""

import ctypes
import errno
import platform
import resource
import struct
import sys
from pathlib import Path

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06
"""Instructions of a filter: load a word, compare it, end (linux/bpf_common.h)."""

# Memory, threads, clocks, what is open already and the end: nothing that names a file, an address
# or another process. Numbers are those of x86-64 and AArch64 (asm/unistd.h).
_CALLS = {
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "ioctl": (16, 29),
    "fcntl": (72, 25),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "futex": (202, 98),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "clone": (56, 220),
    "clone3": (435, 435),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "sysinfo": (99, 179),
    "uname": (63, 160),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "prlimit64": (302, 261),
    "getrandom": (318, 278),
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "tgkill": (234, 131),
    "exit": (60, 93),
    "exit_group": (231, 94),
}
_MORE_ON_X86 = (4, 6, 97, 160, 158)  # stat, lstat, getrlimit, setrlimit, arch_prctl
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def restrict(memory: int) -> list[str]:
    """Give up for good what decoding does not need, and return what keeps it so.

    ``limits``: the memory that may still be allocated, no new open file, socket or pipe, no
    growing file, no core dump. ``seccomp``, on Linux: of all system calls only those that
    decoding needs; others fail, so that neither files nor the network can be reached, even by
    code that a picture has smuggled in.
    """
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = pages * resource.getpagesize() + memory
    for name, limit in (
        (resource.RLIMIT_AS, most),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 0),
    ):
        resource.setrlimit(name, (limit, limit))
    return ["limits", *(["seccomp"] if _filter_calls() else [])]


def _filter_calls() -> bool:
    """Let the kernel refuse all system calls but a few; return whether it does."""
    if not sys.platform.startswith("linux") or platform.machine() not in _MACHINES:
        return False
    column, machine = _MACHINES[platform.machine()]
    allowed = {numbers[column] for numbers in _CALLS.values()}
    if column == 0:
        allowed.update(_MORE_ON_X86)
    steps = [
        (_LOAD, 0, 0, 4),  # the machine that the call is for
        (_EQUAL, 1, 0, machine),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, 0),  # its number
        *((_EQUAL, len(allowed) - place, 0, it) for place, it in enumerate(sorted(allowed))),
        (_RETURN, 0, 0, _REFUSE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = _Program(len(steps), ctypes.cast(code, ctypes.c_void_p))
    prctl = ctypes.CDLL(None).prctl
    prctl.argtypes = [ctypes.c_int, *([ctypes.c_ulong] * 4)]
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return False
    address = ctypes.addressof(program)
    return bool(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, address, 0, 0) == 0)
