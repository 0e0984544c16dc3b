"""The numbers of the system calls that the filter names, from the kernel's tables for each machine.

aarch64 lacks calls that later calls have replaced. For example, it has `openat` but not `open`.
"""

NUMBERS = {
    "x86_64": dict(
        read=0, write=1, open=2, close=3, stat=4, fstat=5, lstat=6, poll=7, lseek=8, mmap=9, mprotect=10, munmap=11,
        brk=12, rt_sigaction=13, rt_sigprocmask=14, rt_sigreturn=15, ioctl=16, pread64=17, pwrite64=18, readv=19,
        writev=20, access=21, pipe=22, select=23, sched_yield=24, mremap=25, msync=26, madvise=28, dup=32, dup2=33,
        pause=34, nanosleep=35, getitimer=36, alarm=37, setitimer=38, getpid=39, sendfile=40, clone=56, execve=59,
        exit=60, wait4=61, kill=62, uname=63, fcntl=72, fsync=74, fdatasync=75, truncate=76, ftruncate=77, getcwd=79,
        chdir=80, fchdir=81, rename=82, mkdir=83, rmdir=84, unlink=87, symlink=88, readlink=89, chmod=90, fchmod=91,
        umask=95, gettimeofday=96, getrusage=98, sysinfo=99, times=100, getuid=102, getgid=104, geteuid=107,
        getegid=108, getppid=110, getpgrp=111, getgroups=115, getresuid=118, getresgid=120, getpgid=121, getsid=124,
        rt_sigpending=127, rt_sigtimedwait=128, rt_sigsuspend=130, sigaltstack=131, statfs=137, fstatfs=138,
        getpriority=140, sched_getparam=143, sched_getscheduler=145, sched_get_priority_max=146,
        sched_get_priority_min=147, prctl=157, arch_prctl=158, gettid=186, getxattr=191, lgetxattr=192, fgetxattr=193,
        listxattr=194, llistxattr=195, flistxattr=196, tkill=200, time=201, futex=202, sched_getaffinity=204,
        getdents64=217, set_tid_address=218, restart_syscall=219, fadvise64=221, clock_gettime=228, clock_getres=229,
        clock_nanosleep=230, exit_group=231, tgkill=234, openat=257, mkdirat=258, newfstatat=262, unlinkat=263,
        renameat=264, symlinkat=266, readlinkat=267, fchmodat=268, faccessat=269, pselect6=270, ppoll=271,
        set_robust_list=273, utimensat=280, fallocate=285, dup3=292, pipe2=293, preadv=295, pwritev=296,
        prlimit64=302, getcpu=309, renameat2=316, getrandom=318, execveat=322, copy_file_range=326, statx=332,
        rseq=334, clone3=435, close_range=436, faccessat2=439,
    ),
    "aarch64": dict(
        getxattr=8, lgetxattr=9, fgetxattr=10, listxattr=11, llistxattr=12, flistxattr=13, getcwd=17, dup=23, dup3=24,
        fcntl=25, ioctl=29, mkdirat=34, unlinkat=35, symlinkat=36, renameat=38, statfs=43, fstatfs=44, truncate=45,
        ftruncate=46, fallocate=47, faccessat=48, chdir=49, fchdir=50, fchmod=52, fchmodat=53, openat=56, close=57,
        pipe2=59, getdents64=61, lseek=62, read=63, write=64, readv=65, writev=66, pread64=67, pwrite64=68, preadv=69,
        pwritev=70, sendfile=71, pselect6=72, ppoll=73, readlinkat=78, newfstatat=79, fstat=80, fsync=82,
        fdatasync=83, utimensat=88, exit=93, exit_group=94, set_tid_address=96, futex=98, set_robust_list=99,
        nanosleep=101, getitimer=102, setitimer=103, clock_gettime=113, clock_getres=114, clock_nanosleep=115,
        sched_getscheduler=120, sched_getparam=121, sched_getaffinity=123, sched_yield=124,
        sched_get_priority_max=125, sched_get_priority_min=126, restart_syscall=128, kill=129, tkill=130, tgkill=131,
        sigaltstack=132, rt_sigsuspend=133, rt_sigaction=134, rt_sigprocmask=135, rt_sigpending=136,
        rt_sigtimedwait=137, rt_sigreturn=139, getpriority=141, getresuid=148, getresgid=150, times=153, getpgid=155,
        getsid=156, getgroups=158, uname=160, getrusage=165, umask=166, prctl=167, getcpu=168, gettimeofday=169,
        getpid=172, getppid=173, getuid=174, geteuid=175, getgid=176, getegid=177, gettid=178, sysinfo=179, brk=214,
        munmap=215, mremap=216, clone=220, execve=221, mmap=222, fadvise64=223, mprotect=226, msync=227, madvise=233,
        wait4=260, prlimit64=261, renameat2=276, getrandom=278, execveat=281, copy_file_range=285, statx=291,
        rseq=293, clone3=435, close_range=436, faccessat2=439,
    ),
}  # fmt: skip
