//! Other programs, and what belongs to them.

use std::io::Read;
use std::process::Stdio;

use crate::scene::{done, each, no_python};

#[test]
fn other_programs_get_no_signals_and_keep_their_limits() {
    if no_python() {
        return;
    }
    each(|scene| {
        let mut other = scene.free("sleep").arg("1000").spawn().unwrap();
        let text = format!(
            "
import resource
other = {}
print(attempt(lambda: os.kill(other, signal.SIGKILL)), attempt(lambda: os.kill(other, 0)),
    attempt(lambda: os.kill(os.getppid(), signal.SIGKILL)),
    attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(other), signal.SIGKILL)),
    attempt(lambda: resource.prlimit(other, resource.RLIMIT_CPU, (0, 0))),
    attempt(lambda: os.setpriority(os.PRIO_PROCESS, other, 19)), attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19)),
    attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, 1)))
",
            other.id()
        );
        let got = scene.python(&[], &text);
        let alive = other.try_wait().unwrap().is_none();
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(got.out, "EPERM EPERM EPERM EPERM EPERM EPERM EPERM done", "{}", got.err);
        assert!(alive);
    });
}

#[test]
fn programs_in_the_cage_get_signals() {
    each(|scene| {
        let got = scene.shell(&[], "sleep 1000 & kill $! && wait $!; echo $?");
        assert_eq!(got.out, "143", "{}", got.err);
    });
}

#[test]
fn memory_and_environment_of_others_are_closed() {
    each(|scene| {
        let mut other = scene.free("sleep").arg("1000").env("SECRET", "KEY").spawn().unwrap();
        let id = other.id();
        let line = format!(
            "cd /proc/{id}; cat environ mem; readlink exe cwd root fd/0; cat fd/0; cat root/etc/hostname; head -c 1 maps; \
             ls map_files; echo stop > comm; cat /proc/self/environ > /dev/null && echo own"
        );
        let got = scene.shell(&[], &line);
        other.kill().unwrap();
        other.wait().unwrap();
        assert_eq!(got.out, "own", "{}", got.err);
    });
}

#[test]
fn nothing_open_is_inherited() {
    each(|scene| {
        scene.file("outside/f", "KEY");
        let mut command = scene.free("sh");
        command.args(["-c", "exec 7< $O/f 9> $O/g; exec \"$@\"", "sh"]).env("O", scene.path("outside"));
        command.arg(scene.path("haft-cage")).args(["--rung", "landlock", "--"]);
        command.args(["sh", "-c", "cat <&7; echo x >&9; ls /proc/self/fd | wc -l"]);
        let got = done(command.output().unwrap());
        // Input, output, errors, and the folder that is listed.
        assert_eq!(got.out, "4", "{}", got.err);
    });
}

#[test]
fn the_session_is_its_own_also_for_the_leader_of_a_group() {
    use std::os::unix::process::CommandExt;

    if no_python() {
        return;
    }
    each(|scene| {
        let text = "import os; print(os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid())";
        let program = ["python3", "-c", text];
        let mut command = scene.caged(&[], &program);
        assert_eq!(done(command.output().unwrap()).out, "True True");
        let leads_a_group = done(command.process_group(0).output().unwrap());
        assert_eq!(leads_a_group.out, "True True", "{}", leads_a_group.err);
        assert_eq!(scene.run(&["--keep-session"], &program).out, "False False");
    });
}

/// What runs on when its shell has ended does so in the same cage.
#[test]
fn what_is_left_running_goes_on_in_the_cage() {
    each(|scene| {
        scene.file("outside/f", "old");
        let line = "exec 3<&0; (read line <&3; echo new > $O/f; echo still $line) & true";
        let mut command = scene.caged(&[], &["sh", "-c", line]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).env("O", scene.path("outside"));
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        assert!(child.wait().unwrap().success());
        std::io::Write::write_all(&mut &input, b"here\n").unwrap();
        let mut out = String::new();
        child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        assert_eq!(out.trim(), "still here");
        assert_eq!(scene.read("outside/f").as_deref(), Some("old"));
    });
}

#[test]
fn no_terminal_of_others_is_opened() {
    if no_python() {
        return;
    }
    each(|scene| {
        let mut opened =
            "import os, sys; master, slave = os.openpty(); print(os.ttyname(slave), flush=True); os.read(0, 1)";
        opened = opened.trim();
        let mut other = scene.free("python3");
        other.args(["-c", opened]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut other = other.spawn().unwrap();
        let mut name = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(other.stdout.take().unwrap()), &mut name).unwrap();
        let text = format!(
            "print(attempt(lambda: os.open('{0}', os.O_RDONLY | os.O_NOCTTY)), attempt(lambda: os.open('{0}', os.O_WRONLY)))",
            name.trim()
        );
        let got = scene.python(&[], &text);
        drop(other.stdin.take());
        other.wait().unwrap();
        assert_eq!(got.out, "EACCES EACCES", "{}", got.err);
    });
}

#[test]
fn a_terminal_of_its_own_is_used_and_nothing_is_typed_into_it() {
    if no_python() {
        return;
    }
    each(|scene| {
        let inner = "import fcntl, os, termios
print(os.isatty(0), os.open('/dev/tty', os.O_RDWR) > 0, os.open(os.ttyname(0), os.O_RDWR | os.O_NOCTTY) > 0)
try: fcntl.ioctl(0, termios.TIOCSTI, b'x'); print('typed')
except OSError as error: print(error.errno)";
        // A session with a terminal, as whoever starts a program on one makes it.
        let outer = "import os, pty, sys
pid, master = pty.fork()
if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
out = b''
try:
    while True: out += os.read(master, 1000)
except OSError: pass
os.waitpid(pid, 0)
print(out.decode().replace('\\r', ''), end='')";
        let mut command = scene.free("python3");
        command.args(["-c", outer]).arg(scene.path("haft-cage"));
        command.args(["--rung", "landlock", "--keep-session", "--", "python3", "-c", inner]);
        let got = done(command.output().unwrap());
        assert_eq!(got.out, "True True True\n1", "{}", got.err);
    });
}
