//! System calls that are refused. Most would fail for an ordinary user anyway: what shows the filter is that the refusal
//! comes before anybody looks at the arguments.

#![cfg(target_arch = "x86_64")]

use crate::scene::{each, is_root, no_python};

/// Calls that come to nothing with these arguments, by name and number, and are refused in the cage.
const REFUSED: &str = "
bad = -1
refused = {
    'ptrace': (101, 0x4206, 1), 'process_vm_readv': (310, 1, 0, 0, 0, 0, 9), 'process_vm_writev': (311, 1, 0, 0, 0, 0, 9),
    'kcmp': (312, 1, 1, 99, 0, 0), 'pidfd_getfd': (438, bad, 0, 0), 'process_madvise': (440, bad, 0, 0, 0, 0),
    'process_mrelease': (448, bad, 0), 'mount': (165, 0, 0, 0, 0, 0), 'umount2': (166, 0, 0x7fff0000),
    'pivot_root': (155, 0, 0), 'chroot': (161, 0), 'fsopen': (430, 0, 9), 'fsconfig': (431, bad, 99, 0, 0, 0),
    'fsmount': (432, bad, 9, 0), 'fspick': (433, bad, 0, 0x7fff), 'move_mount': (429, bad, 0, bad, 0, 0x7fff0000),
    'open_tree': (428, bad, 0, 0x7fff), 'open_tree_attr': (467, bad, 0, 0x7fff, 0, 0),
    'mount_setattr': (442, bad, 0, 0x7fff0000, 0, 0), 'setns': (308, bad, 0), 'open_by_handle_at': (304, bad, 0, 0),
    'fanotify_init': (300, 0xffff, 0), 'fanotify_mark': (301, bad, 0, 0, bad, 0), 'keyctl': (250, 99),
    'add_key': (248, 0, 0, 0, 0, 0), 'request_key': (249, 0, 0, 0, 0), 'bpf': (321, 99, 0, 0),
    'userfaultfd': (323, 0x7fff0000), 'perf_event_open': (298, 0, 0, bad, bad, 0), 'io_uring_setup': (425, 0, 0),
    'io_uring_enter': (426, bad, 0, 0, 0, 0, 0), 'io_uring_register': (427, bad, 99, 0, 0),
    'kexec_load': (246, 0, 99, 0, 0), 'kexec_file_load': (320, bad, bad, 0, 0, 0x7fff0000),
    'init_module': (175, 0, 0, 0), 'finit_module': (313, bad, 0, 0x7fff), 'delete_module': (176, 0, 0),
    'reboot': (169, 0, 0, 0, 0), 'swapon': (167, 0, 0x7fff0000), 'swapoff': (168, 0), 'quotactl': (179, bad, 0, 0, 0),
    'quotactl_fd': (443, bad, 99, 0, 0), 'syslog': (103, 99, 0, 0), 'settimeofday': (164, 1, 1),
    'clock_settime': (227, 0, 0), 'clock_adjtime': (305, 0, 0), 'adjtimex': (159, 0), 'sethostname': (170, 0, bad),
    'setdomainname': (171, 0, bad), 'iopl': (172, 9), 'ioperm': (173, bad, 9, 1),
    'shmget': (29, 1, 0, 0), 'shmat': (30, bad, 0, 0), 'shmctl': (31, bad, 99, 0), 'semget': (64, 1, bad, 0),
    'semop': (65, bad, 0, 0), 'semctl': (66, bad, 0, 99, 0), 'msgget': (68, 1, 0), 'msgsnd': (69, bad, 0, 0, 0),
    'msgrcv': (70, bad, 0, 0, 0, 0), 'msgctl': (71, bad, 99, 0), 'mq_open': (240, 0, 0, 0, 0), 'mq_unlink': (241, 0),
}
";

#[test]
fn the_calls_are_refused() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "print([name for name, args in refused.items() if call(*args) != 'EPERM'])";
        scene.says(&[], &format!("{REFUSED}{text}"), "[]");
    });
}

/// Otherwise the test above would show nothing.
#[test]
fn without_a_cage_the_same_calls_fail_of_their_arguments() {
    if no_python() || !is_root() {
        return;
    }
    let scene = crate::scene::Scene::new(crate::scene::Who::Self_, "landlock");
    // What this machine does not have at all, or keeps even from root, says nothing.
    let text = "print(len([name for name, args in refused.items() if call(*args) not in ('EPERM', 'ENOSYS')]) * 100
        >= len(refused) * 75)";
    assert_eq!(scene.free_python(&format!("{REFUSED}{text}")).out, "True");
}

#[test]
fn no_namespace_is_made_and_threads_are() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "
flags = {'mount': 0x20000, 'cgroup': 0x2000000, 'host': 0x4000000, 'ipc': 0x8000000, 'user': 0x10000000, 'pid': 0x20000000,
    'net': 0x40000000, 'time': 0x80}
print([name for name, flag in flags.items() if call(272, flag) != 'EPERM'])
print([name for name, flag in flags.items() if name != 'time' and call(56, flag | 17, 0, 0, 0, 0) != 'EPERM'])
print(call(272, 0x400), call(435, 0, 0))
import threading
thread = threading.Thread(target=lambda: print('thread'))
thread.start(); thread.join()
";
        scene.says(&[], text, "[]\n[]\ndone ENOSYS\nthread");
        assert_ne!(scene.run(&[], &["unshare", "-r", "true"]).code, 0);
    });
}

#[test]
fn the_second_set_of_numbers_is_unknown() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "
second = 0x40000000
print({call(second + args[0], *args[1:]) for args in refused.values()}, call(second + 39), call(second + 521, 0, 1))
";
        scene.says(&[], &format!("{REFUSED}{text}"), "{'ENOSYS'} ENOSYS ENOSYS");
    });
}

/// A call in the way of 32-bit programs, whose numbers mean other things.
#[test]
fn calls_of_another_kind_of_program_end_it() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "
import mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes.fromhex('b814000000cd80c3'))
address = ctypes.addressof(ctypes.c_char.from_buffer(code))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)() > 0)
";
        // Where the system has no 32-bit programs at all, the processor ends it.
        let free = scene.free_python(text);
        assert!(free.out == "True" || free.code == 139, "{} {}", free.out, free.err);
        let got = scene.python(&[], text);
        assert_eq!(got.out, "");
        assert!(got.code == 159 || (got.code == 139 && free.code == 139), "{}", got.code);
    });
}

#[test]
fn nobody_types_into_a_terminal_or_changes_how_files_are_kept() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "
f = os.open('f', os.O_CREAT | os.O_RDWR, 0o600)
print({call(16, f, order, 0) for order in (0x5412, 0x541c, 0x541d, 0x40086602, 0x401c5820, 0x40806685, 0x800c6613)},
    call(16, f, 0x5401, 0))
";
        // Other orders reach the file, which has no such thing.
        scene.says(&[], text, "{'EPERM'} ENOTTY");
    });
}

#[test]
fn what_another_kind_of_program_may_be() {
    if no_python() {
        return;
    }
    each(|scene| {
        scene.says(&[], "print(call(135, 0xffffffff), call(135, 0x400000), call(135, 0x40000))", "done EPERM done");
    });
}

#[test]
fn privileges_are_given_up_for_good() {
    each(|scene| {
        let got = scene
            .shell(&[], "grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status | tr '\\n\\t' '  '");
        // Files of others, users and groups, signals, low ports; nothing for an ordinary user.
        let caps = if scene.by_root() { "00000000000004ea" } else { "0000000000000000" };
        let none = "0000000000000000";
        let want = format!("CapInh: {none} CapPrm: {caps} CapEff: {caps} CapAmb: {none} NoNewPrivs: 1 Seccomp: 2");
        assert_eq!(got.out, want, "{}", got.err);
        if scene.by_root() {
            assert_eq!(scene.shell(&[], "grep CapBnd /proc/self/status | cut -f 2").out, caps);
        }
    });
}
