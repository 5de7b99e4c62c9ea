//! Other programs, their sockets, and the network.

use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{alive, each, missing, shell};
use crate::scene::{Scene, no_python};

/// How long is waited for something that must come.
const PATIENCE: Duration = Duration::from_secs(20);

#[test]
fn a_closed_network_is_its_own() {
    if no_python() {
        return;
    }
    each(|scene| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (tcp, udp) = (listener.local_addr().unwrap().port(), datagrams.local_addr().unwrap().port());
        listener.set_nonblocking(true).unwrap();
        datagrams.set_nonblocking(true).unwrap();
        let text = format!(
            "
print(attempt(lambda: socket.create_connection(('127.0.0.1', {tcp}), 2)))
print(attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {udp}))))
print(attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))))
print(attempt(lambda: socket.create_connection(('192.0.2.1', 9), 2)))
"
        );
        scene.says(&[], &text, "ECONNREFUSED\ndone\nENETUNREACH\nENETUNREACH");
        assert!(listener.accept().is_err());
        assert!(datagrams.recv(&mut [0; 8]).is_err());
        scene.says(&["--network"], &text.lines().take(3).collect::<Vec<_>>().join("\n"), "done\ndone");
        assert!(listener.accept().is_ok());
        assert!(datagrams.recv(&mut [0; 8]).is_ok());
    });
}

#[test]
fn a_test_may_listen_on_its_own_machine() {
    if no_python() {
        return;
    }
    each(|scene| {
        let text = "
s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen()
c = socket.create_connection(s.getsockname()); c.send(b'hello')
print(s.accept()[0].recv(9).decode(), len(socket.if_nameindex()))
";
        scene.says(&[], text, "hello 1");
    });
}

#[test]
fn sockets_of_others_are_not_there() {
    if no_python() {
        return;
    }
    each(|scene| {
        // Where a desktop, an agent or a database puts it: right in the folder for temporary files, or in one of its own.
        let near = tempfile::Builder::new().prefix("tmux-").tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(near.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let direct = near.path().with_extension("s.PGSQL");
        let (named, given) = (scene.path("outside/agent"), scene.path("outside/given"));
        let paths = [near.path().join("default"), direct.clone(), named.clone(), given.clone()];
        let listeners: Vec<UnixListener> = paths.iter().map(|path| UnixListener::bind(path).unwrap()).collect();
        paths.iter().for_each(|path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777)).unwrap());
        let attempts: Vec<String> = paths
            .iter()
            .map(|path| format!("print(attempt(lambda: socket.socket(socket.AF_UNIX).connect({path:?})))"))
            .collect();
        let text = format!("{}{}", crate::scene::PRELUDE, attempts.join("\n"));
        let run = |options: &[&str]| {
            let mut command = scene.caged(options, &["python3", "-c", &text]);
            command.env("SSH_AUTH_SOCK", &named);
            super::output(command)
        };
        let given = scene.text("outside/given");
        let got = run(&["--write", "/tmp", "--socket", &given]);
        let lines: Vec<&str> = got.out.lines().collect();
        assert_eq!(lines.len(), 4, "{}", got.err);
        assert!(lines[..3].iter().all(|line| ["ENOENT", "EACCES", "ECONNREFUSED"].contains(line)), "{lines:?}");
        assert_eq!(lines[3], "done");
        for (listener, path) in listeners.iter().zip(&paths) {
            listener.set_nonblocking(true).unwrap();
            assert_eq!(listener.accept().is_ok(), path.ends_with("given"), "{path:?}");
        }
        std::fs::remove_file(direct).unwrap();
    });
}

#[test]
fn services_of_the_system_are_not_there() {
    each(|scene| {
        let got =
            shell(scene, "", "ls -A /run; ls -A /var/run; cat /run/*; test -e /run/docker.sock || test -e /run/dbus");
        assert_eq!((got.code, got.out.as_str()), (1, ""), "{}", got.err);
    });
}

#[test]
fn only_what_runs_in_the_cage_is_seen() {
    each(|scene| {
        let ours = std::process::id();
        let line = format!(
            "echo /proc/[0-9]* | wc -w; test -e /proc/{ours} && cat /proc/{ours}/cmdline; kill -0 {ours}; kill -0 $PPID; kill -9 -1;
            tr '\\0' '\\n' < /proc/1/environ; ls -l /proc/1/cwd /proc/1/root /proc/1/fd/"
        );
        let got = shell(scene, "", &line);
        let seen: usize = got.out.lines().next().unwrap().trim().parse().unwrap();
        assert!(seen <= 5, "{}", got.out);
        assert!(!got.out.contains("->") && !got.out.contains("haft_sandbox"), "{}", got.out);
        // We are still here.
        assert_eq!(std::process::id(), ours);
    });
}

#[test]
fn shared_memory_is_its_own() {
    if no_python() || missing("ipcmk") || missing("ipcrm") {
        return;
    }
    each(|scene| {
        let made =
            String::from_utf8(Command::new("ipcmk").args(["-M", "64", "-p", "0666"]).output().unwrap().stdout).unwrap();
        let id = made.trim().rsplit(' ').next().unwrap().to_owned();
        scene.says(&[], &format!("print(call(30, {id}, 0, 0))"), "EINVAL");
        let free = scene.free_python(&format!("print(call(30, {id}, 0, 0))"));
        assert!(Command::new("ipcrm").args(["-m", &id]).status().unwrap().success());
        assert_eq!(free.out, "done");
        let got = shell(scene, "", "echo x > /dev/shm/haft-test && cat /dev/shm/haft-test");
        assert_eq!(got.out, "x", "{}", got.err);
        assert!(!std::path::Path::new("/dev/shm/haft-test").exists());
    });
}

#[test]
fn the_mounts_cannot_be_undone() {
    if no_python() {
        return;
    }
    each(|scene| {
        scene.file("project/secret/inner", "secret");
        scene.file("project/frozen/inner", "old");
        let options = super::options(scene, "hide project/secret frozen project/frozen");
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        // unshare of users and mounts, setns to the first process, umount2, mount, pivot_root, chroot, open_tree,
        // move_mount, mount_setattr, fsopen.
        let text = "
newuser, newns, detach = 0x10000000, 0x20000, 2
calls = [(272, newuser | newns), (272, newns), (272, newuser), (166, b'secret', detach), (166, b'frozen', detach),
    (165, b'none', b'frozen', 0, 32 | 4096, 0), (165, b'frozen', b'secret', 0, 4096, 0), (155, b'.', b'.'),
    (161, b'/'), (428, -100, b'secret', 1), (429, -100, b'', -100, b'secret', 4), (442, -100, b'frozen', 0, 0, 0),
    (430, b'tmpfs', 0)]
print(set(call(*one) for one in calls) <= {'EPERM', 'ENOSYS', 'EACCES'})
print(attempt(lambda: os.open('/proc/1/ns/mnt', os.O_RDONLY)), attempt(lambda: os.open('/proc/1/ns/user', os.O_RDONLY)))
print(attempt(lambda: os.write(os.open('/proc/self/uid_map', os.O_WRONLY), b'0 0 1')) in ('EPERM', 'EACCES'))
print(attempt(lambda: os.listdir('secret')) != 'done' or os.listdir('secret') == [], attempt(lambda: open('frozen/inner', 'w')))
";
        scene.says(&options, text, "True\nEACCES EACCES\nTrue\nTrue EROFS");
        assert_eq!(scene.read("project/frozen/inner").as_deref(), Some("old"));
    });
}

#[test]
fn settings_of_the_machine_stay() {
    each(|scene| {
        let files =
            "/proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches /proc/sysrq-trigger
            /proc/sys/fs/binfmt_misc/register /proc/sys/net/ipv4/ip_forward /proc/irq/0/smp_affinity /proc/mtrr
            /sys/kernel/mm/ksm/run /sys/power/state /sys/fs/cgroup/cgroup.procs /proc/self/oom_score_adj";
        // Opened and never written, so that nothing comes of it.
        let got = shell(scene, "", &format!("for f in {files}; do (exec 3>> $f) 2> /dev/null && echo $f; done; true"));
        assert_eq!(got.out, "", "{}", got.err);
        let got = shell(scene, "", "grep -c ' /proc/sys ro' /proc/self/mountinfo");
        assert_eq!(got.out, "1", "{}", got.err);
        let got = shell(scene, "", "cat /proc/sys/kernel/ostype && echo x > /dev/null && (echo y > /dev/stdout) | cat");
        assert_eq!(got.out, "Linux\ny", "{}", got.err);
    });
}

#[test]
fn a_pipe_with_a_name_that_lies_outside_is_not_written() {
    each(|scene| {
        let pipe = scene.path("outside/pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o666.into(), 0).unwrap();
        std::fs::set_permissions(&pipe, std::fs::Permissions::from_mode(0o666)).unwrap();
        // Open for both, it would wait for nobody.
        let got = shell(scene, "", "exec 3<> $O/pipe && echo x >&3; exit 1");
        assert_ne!(got.code, 0);
        let got = shell(scene, "", "mkfifo own && exec 3<> own && echo x >&3 && read line <&3 && echo $line");
        assert_eq!(got.out, "x", "{}", got.err);
    });
}

#[test]
fn what_is_left_running_goes_on_and_can_be_found_and_ended() {
    each(|scene| {
        let mark = format!("HAFT_TEST_MARK={}", scene.text("project"));
        let mut command = scene.caged(&[], &["sh", "-c", "(sleep 600; echo late) & echo started"]);
        let (name, value) = mark.split_once('=').unwrap();
        let mut child = command.env(name, value).stdout(Stdio::piped()).spawn().unwrap();
        // The shell has ended, and with it what we started.
        assert!(child.wait().unwrap().success());
        let begun = Instant::now();
        let left = loop {
            let left = alive(&mark);
            if left.iter().any(|pid| name_of(*pid) == "sleep") {
                break left;
            }
            assert!(begun.elapsed() < PATIENCE, "only {:?}", left.iter().map(|pid| name_of(*pid)).collect::<Vec<_>>());
        };
        // The last process of the cage takes with it what holds the cage.
        for pid in left.iter().filter(|pid| ["sleep", "sh"].contains(&name_of(**pid).as_str())) {
            kill(*pid);
        }
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "started\n");
        nothing_left(&mark);
    });
}

#[test]
fn whoever_ends_the_first_process_ends_all() {
    each(|scene| {
        let mark = format!("HAFT_TEST_MARK={}", scene.text("outside"));
        let (name, value) = mark.split_once('=').unwrap();
        // In a session of its own, without its environment, with a parent that has ended.
        let line = "(setsid env -i sleep 600 &) ; echo started; sleep 600";
        let mut child = scene.caged(&[], &["sh", "-c", line]).env(name, value).stdout(Stdio::piped()).spawn().unwrap();
        let mut started = [0; 8];
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut started).unwrap();
        // As the group of what was started; a signal to the leader alone would leave the rest.
        let group = rustix::process::Pid::from_child(&child);
        let killed = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        assert!(killed.is_ok(), "{killed:?}");
        child.wait().unwrap();
        // Ends when nobody holds the other end any more: also not the one that hid.
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        nothing_left(&mark);
    });
}

#[test]
fn it_ends_as_the_program_does() {
    each(|scene: &Scene| {
        for (line, code) in [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -TERM $$", 143)] {
            assert_eq!(shell(scene, "", line).code, code, "{line}");
        }
        assert_eq!(scene.run(&[], &["no-such-program"]).code, 127);
    });
}

fn name_of(pid: i32) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}

fn kill(pid: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    // Whoever has ended meanwhile needs none.
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
}

#[track_caller]
fn nothing_left(mark: &str) {
    let begun = Instant::now();
    while !alive(mark).is_empty() {
        assert!(begun.elapsed() < PATIENCE, "{:?} go on", alive(mark));
        std::thread::yield_now();
    }
}
