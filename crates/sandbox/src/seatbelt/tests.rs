use super::*;
use std::path::PathBuf;

fn paths(paths: &[&str]) -> Vec<PathBuf> {
    paths.iter().map(PathBuf::from).collect()
}

/// What the profile says beyond what it always says.
#[track_caller]
fn row(cage: Cage, want: &[&str]) {
    let profile = profile(&cage).unwrap();
    let own: Vec<&str> = profile.strip_prefix(ALWAYS).unwrap().lines().collect();
    assert_eq!(own, want);
}

#[test]
fn nothing_is_written_and_nobody_spoken_to_unless_it_is_said() {
    row(Cage::default(), &[]);
    for word in ["(deny default)", "(allow file-read*)"] {
        assert!(ALWAYS.contains(word), "{word}");
    }
    for word in ["network", "(allow default)", "file-write* (subpath", "appleevent", "launchservices", "lsopen"] {
        assert!(!ALWAYS.contains(word), "{word}");
    }
}

#[test]
fn the_last_rule_decides_so_folders_come_first() {
    let cage = Cage {
        write: paths(&["/p"]),
        frozen: paths(&["/p/.git/hooks"]),
        hidden: paths(&["/p/.env", "/Users/u/.ssh"]),
        shown: paths(&["/Users/u/.ssh/known_hosts"]),
        ..Cage::default()
    };
    row(
        cage,
        &[
            r#"(deny file-read* file-write* (subpath "/Users/u/.ssh"))"#,
            r#"(allow file-read-metadata (literal "/Users/u/.ssh"))"#,
            r#"(allow file-read* (subpath "/Users/u/.ssh/known_hosts"))"#,
            r#"(deny file-write* (subpath "/Users/u/.ssh/known_hosts"))"#,
            r#"(allow file-write* (subpath "/p"))"#,
            r#"(deny file-read* file-write* (subpath "/p/.env"))"#,
            r#"(deny file-write-unlink (literal "/p/.git"))"#,
            r#"(deny file-write* (subpath "/p/.git/hooks"))"#,
        ],
    );
}

#[test]
fn an_open_network_opens_no_sockets_of_other_programs() {
    let open = Cage { network: Network::Open, ..Cage::default() };
    let want: Vec<&str> = NETWORK.lines().collect();
    row(open, &want);
    assert!(NETWORK.contains("(allow network-outbound (remote ip))") && !NETWORK.contains("(allow network-outbound)"));
    let socket = Cage { sockets: paths(&["/tmp/agent"]), ..Cage::default() };
    row(socket, &[r#"(allow network-outbound (literal "/tmp/agent"))"#]);
}

#[test]
fn no_path_can_become_a_rule() {
    let cage = Cage { write: paths(&["/p\"))(allow default)(\"", "/q\\\"))(allow default)"]), ..Cage::default() };
    row(
        cage,
        &[
            r#"(allow file-write* (subpath "/p\"))(allow default)(\""))"#,
            r#"(allow file-write* (subpath "/q\\\"))(allow default)"))"#,
        ],
    );
    use std::os::unix::ffi::OsStrExt;
    let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/p/\xff"));
    assert!(profile(&Cage { frozen: vec![odd], write: paths(&["/p"]), ..Cage::default() }).is_err());
}
