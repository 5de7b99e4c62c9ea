//! How much may be used.

use crate::scene::{each, no_python};

#[test]
fn files_memory_and_open_files_are_limited_for_good() {
    if no_python() {
        return;
    }
    each(|scene| {
        let options = ["--memory", "300000000", "--file-size", "100000", "--open-files", "50"];
        let text = "
import mmap, resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
f = open('big', 'wb', buffering=0)
print(f.write(bytes(100000)), attempt(lambda: f.write(b'x')))
try: bytearray(400000000); print('filled')
except MemoryError: print('no memory')
reserved = mmap.mmap(-1, 1 << 34, prot=0, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
print('set aside')
print(attempt(lambda: [os.dup(1) for _ in range(100)]))
for limit, more in ((resource.RLIMIT_DATA, 400000000), (resource.RLIMIT_FSIZE, 200000), (resource.RLIMIT_NOFILE, 100),
        (resource.RLIMIT_CORE, 1)):
    try: resource.setrlimit(limit, (more, more)); print('raised')
    except (OSError, ValueError): print('kept')
";
        let want = "100000 EFBIG\nno memory\nset aside\nEMFILE\nkept\nkept\nkept\nkept";
        scene.says(&options, text, want);
    });
}

/// Root is not held to it, which `gaps` says.
#[test]
fn a_fork_bomb_goes_out() {
    if no_python() {
        return;
    }
    each(|scene| {
        if scene.by_root() {
            assert!(scene.shell(&["--gaps"], "").out.contains("processes: "));
            return;
        }
        let text = "
made = 0
try:
    while made < 4000:
        if os.fork() == 0:
            signal.pause()
        made += 1
except BlockingIOError: pass
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
print(5 < made < 4000)
";
        scene.says(&["--processes", "20"], text, "True");
    });
}

#[test]
fn what_commands_get_by_with_is_enough_for_a_shell() {
    each(|scene| {
        let got = scene.shell(&["--limits"], "head -c 10000000 /dev/zero > f && wc -c < f && ulimit -c");
        assert_eq!(got.out, "10000000\n0", "{}", got.err);
    });
}

#[test]
fn what_is_in_the_cage_goes_first_when_memory_runs_out() {
    each(|scene| {
        let got = scene.shell(&[], "cat /proc/self/oom_score_adj").out;
        assert!(got.parse::<i32>().unwrap() >= 500, "{got}");
    });
}
