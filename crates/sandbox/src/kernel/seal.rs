//! Giving up all rights at once, for a process that only computes and speaks over pipes that are open already.

use std::collections::BTreeMap;

use landlock::{ABI, Access as _, AccessFs, AccessNet, Ruleset, RulesetAttr, Scope};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule, TargetArch,
};

/// All of the process's memory that holds data, in bytes.
const MEMORY: u64 = 1536 * 1024 * 1024;
/// The calls that computing takes: memory, threads of one's own, clocks, pipes that are open.
const CALLS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getpid,
    libc::SYS_getcwd,
    libc::SYS_gettid,
    libc::SYS_ppoll,
    libc::SYS_restart_syscall,
    libc::SYS_membarrier,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
];
/// Those that only some processors have.
#[cfg(target_arch = "x86_64")]
const MORE: &[i64] = &[libc::SYS_poll, libc::SYS_arch_prctl, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const MORE: &[i64] = &[];

/// Gives up files, the network, other processes and all that is not computing, for ever.
pub(crate) fn seal() -> Result<(), String> {
    super::alone_in_here()?;
    let limit = |resource, most| {
        let most = Rlimit { current: Some(most), maximum: Some(most) };
        setrlimit(resource, most).map_err(|errno| format!("a limit cannot be set: {errno}"))
    };
    limit(Resource::Data, MEMORY)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    rustix::thread::set_no_new_privs(true).map_err(|errno| format!("new privileges cannot be ruled out: {errno}"))?;
    files()?;
    let program = program().map_err(|error| format!("a filter is wrong: {error}"))?;
    seccompiler::apply_filter(&program).map_err(|error| format!("system calls cannot be filtered: {error}"))
}

/// No file can be opened. Where the kernel does not have that, the filter holds alone: it knows no call that opens one.
fn files() -> Result<(), String> {
    let newest = ABI::V9;
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(newest))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(newest)))
        .and_then(|rules| rules.scope(Scope::from_all(newest)))
        .and_then(Ruleset::create)
        .and_then(landlock::RulesetCreated::restrict_self);
    match rules {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("rules on files cannot be made: {error}")),
    }
}

/// Allows [`CALLS`], and new threads of this process; `clone3`, which cannot be looked into, is unknown here.
fn program() -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS.iter().chain(MORE).map(|call| (*call, Vec::new())).collect();
    let thread = libc::CLONE_THREAD.unsigned_abs();
    let flag = SeccompCondition::new(
        0,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(u64::from(thread)),
        u64::from(thread),
    )?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![flag])?]);
    // Signals and limits are its own alone.
    let own = u64::from(std::process::id());
    for (call, argument) in [(libc::SYS_tgkill, own), (libc::SYS_prlimit64, 0)] {
        let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, argument)?;
        rules.insert(call, vec![SeccompRule::new(vec![is])?]);
    }
    // Threads name themselves, and nothing else is told to the kernel.
    let name = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, 15)?;
    rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![name])?]);
    let unknown = SeccompAction::Errno(libc::ENOSYS.unsigned_abs());
    SeccompFilter::new(rules, unknown, SeccompAction::Allow, arch)?.try_into()
}
