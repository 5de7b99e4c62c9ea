//! The lists.

use seccompiler::SeccompRule;

use super::conditions::When::{Has, Is, IsNot, Masked, Points};
use super::conditions::{all_of, any_bit};
use super::{Conditions, Facts, Owners};
use crate::kernel::numbers;
use crate::launcher::Layer;

/// The bits of a file's mode with which it runs as its owner or group.
const SET_ID: u32 = 0o6000;
/// Flags of `open` with which it makes a file.
const MAKES: [u32; 2] = [libc::O_CREAT.unsigned_abs(), (libc::O_TMPFILE & !libc::O_DIRECTORY).unsigned_abs()];
/// Flags for namespaces of one's own: mounts, control groups, host name, shared memory, users, processes, network.
const NEW_NAMESPACE: u32 = 0x7e02_0000;
/// The flag for a clock of one's own, which `clone` has no room for.
const NEW_CLOCK: u32 = 0x80;
/// Orders to a terminal that type into it, or into the one on the screen.
const TYPING: [u32; 3] = [0x5412, 0x541c, 0x541d];
/// Orders to any file that may be read, which change how it is kept: its flags (two ways), signing, encrypting.
const KEEPING: [u32; 4] = [0x4008_6602, 0x401c_5820, 0x4080_6685, 0x800c_6613];
/// What `personality` may be asked for: nothing, to tell, fixed addresses, old version numbers, 32 bits.
const PERSONALITIES: [u32; 5] = [0, 0xffff_ffff, 0x0004_0000, 0x0002_0000, 0x0008];
/// The first argument of a priority for all processes of a user.
const ALL_OF_USER: u32 = 2;
/// What a socket may be: one for streams, one for datagrams.
const SOCKET_TYPE: u32 = 0xf;
/// The types of sockets for a network that nobody needs: raw, reliable, in sequence, congested, packets.
const ODD_TYPES: [u32; 5] = [3, 4, 5, 6, 10];

/// Calls that are refused as not permitted.
pub(super) fn refused(facts: &Facts) -> Vec<i64> {
    let mut calls = [ALWAYS, OF_PROCESSOR].concat();
    if facts.layer == Layer::Alone {
        calls.extend(SHARED_MEMORY);
    }
    if facts.owners == Owners::Refused {
        calls.extend(owners());
    }
    if !facts.inet && !facts.unix {
        calls.push(libc::SYS_socket);
    }
    calls
}

/// Calls that are refused as not permitted when their arguments are these.
pub(super) fn conditions(facts: &Facts) -> Conditions {
    let mut calls = Conditions::new();
    calls.extend([
        (libc::SYS_clone, any_bit(0, NEW_NAMESPACE, &[])),
        (libc::SYS_unshare, any_bit(0, NEW_NAMESPACE | NEW_CLOCK, &[])),
        (libc::SYS_ioctl, TYPING.iter().chain(&KEEPING).map(|&order| all_of(&[Is(1, order)])).collect()),
        (libc::SYS_personality, vec![all_of(&PERSONALITIES.map(|one| IsNot(0, one)))]),
        // Limits and priorities of others: they are asked for by number, and one's own number is 0.
        (libc::SYS_prlimit64, vec![all_of(&[IsNot(0, 0), Points(2)])]),
        (libc::SYS_setpriority, vec![all_of(&[IsNot(1, 0)]), all_of(&[Is(0, ALL_OF_USER)])]),
        (libc::SYS_socketpair, pairs(facts)),
        (libc::SYS_openat, making(2, 3)),
        (libc::SYS_fchmod, any_bit(1, SET_ID, &[])),
        (libc::SYS_fchmodat, any_bit(2, SET_ID, &[])),
        (numbers::FCHMODAT2, any_bit(2, SET_ID, &[])),
        (libc::SYS_mknodat, any_bit(2, SET_ID, &[])),
    ]);
    #[cfg(target_arch = "x86_64")]
    calls.extend([
        (libc::SYS_open, making(1, 2)),
        (libc::SYS_creat, any_bit(1, SET_ID, &[])),
        (libc::SYS_chmod, any_bit(1, SET_ID, &[])),
        (libc::SYS_mknod, any_bit(1, SET_ID, &[])),
    ]);
    if facts.inet || facts.unix {
        calls.insert(libc::SYS_socket, sockets(facts));
    }
    calls
}

/// Calls whose arguments lie where no filter can look. Each has a predecessor that its callers fall back to.
pub(super) fn unknown() -> Vec<i64> {
    vec![libc::SYS_clone3, libc::SYS_openat2]
}

/// Attributes of files, which rules on files do not cover.
pub(super) fn unsupported(facts: &Facts) -> Vec<i64> {
    match facts.layer {
        Layer::Alone => ATTRIBUTES.to_vec(),
        // What is not to be written is mounted so.
        Layer::Namespaces => Vec::new(),
    }
}

/// Calls that do nothing.
pub(super) fn without_effect(facts: &Facts) -> Vec<i64> {
    if facts.owners == Owners::Ignored { owners().collect() } else { Vec::new() }
}

/// When a socket is refused, where some are not.
fn sockets(facts: &Facts) -> Vec<SeccompRule> {
    let mut families = Vec::new();
    if facts.unix {
        families.push(libc::AF_UNIX.unsigned_abs());
    }
    let inet = [libc::AF_INET.unsigned_abs(), libc::AF_INET6.unsigned_abs()];
    let netlink = libc::AF_NETLINK.unsigned_abs();
    if facts.inet {
        families.extend(inet);
        families.push(netlink);
    }
    let mut rules = vec![all_of(&families.iter().map(|&family| IsNot(0, family)).collect::<Vec<_>>())];
    if facts.inet {
        let odd = |family| ODD_TYPES.map(|kind| all_of(&[Is(0, family), Masked(1, SOCKET_TYPE, kind)]));
        rules.extend(inet.into_iter().flat_map(odd));
        // To ask for addresses and routes is all.
        rules.push(all_of(&[Is(0, netlink), IsNot(2, libc::NETLINK_ROUTE.unsigned_abs())]));
    }
    rules
}

/// When a pair of sockets is refused. One for datagrams could be turned to any other program's socket.
fn pairs(facts: &Facts) -> Vec<SeccompRule> {
    let mut rules = vec![all_of(&[IsNot(0, libc::AF_UNIX.unsigned_abs())])];
    if !facts.unix {
        let kinds = [libc::SOCK_DGRAM, libc::SOCK_RAW];
        rules.extend(kinds.map(|kind| all_of(&[Masked(1, SOCKET_TYPE, kind.unsigned_abs())])));
    }
    rules
}

/// When an `open` makes a file that runs as its owner or group.
fn making(flags: u8, mode: u8) -> Vec<SeccompRule> {
    MAKES.iter().flat_map(|&makes| any_bit(mode, SET_ID, &[Has(flags, makes)])).collect()
}

fn owners() -> impl Iterator<Item = i64> {
    OWNERS.iter().chain(OWNERS_OF_PROCESSOR).copied()
}

/// Refused in every cage.
const ALWAYS: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // What is where in the tree of files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    numbers::OPEN_TREE_ATTR,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Keys that the kernel keeps for the person.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Large parts of the kernel.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Refused in every cage where the processor has them.
#[cfg(target_arch = "x86_64")]
const OF_PROCESSOR: &[i64] = &[libc::SYS_uselib, libc::SYS_iopl, libc::SYS_ioperm];
#[cfg(not(target_arch = "x86_64"))]
const OF_PROCESSOR: &[i64] = &[];

/// Memory, counters and messages that belong to no folder, and to whoever knows their number.
const SHARED_MEMORY: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Who a file belongs to.
const OWNERS: &[i64] = &[libc::SYS_fchown, libc::SYS_fchownat];
#[cfg(target_arch = "x86_64")]
const OWNERS_OF_PROCESSOR: &[i64] = &[libc::SYS_chown, libc::SYS_lchown];
#[cfg(not(target_arch = "x86_64"))]
const OWNERS_OF_PROCESSOR: &[i64] = &[];

/// Attributes of a file beside its mode and times.
const ATTRIBUTES: &[i64] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    numbers::SETXATTRAT,
    numbers::REMOVEXATTRAT,
    numbers::FILE_SETATTR,
];
