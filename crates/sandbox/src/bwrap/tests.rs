use super::*;
use std::path::Path;

fn mount(what: What, path: &str) -> Mount {
    Mount { path: path.into(), what }
}

#[track_caller]
fn row(users: Users, processes: Processes, mounter: Mounter, network: Network, mounts: &[Mount], want: &str) {
    let bwrap = Bwrap { program: "/usr/bin/bwrap".into(), users, processes, mounter };
    let args = bwrap.args(&Cage { network, ..Cage::default() }, mounts);
    let words: Vec<_> = args.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(words.join(" "), want);
}

#[test]
fn the_root_can_be_read_and_what_may_be_written_comes_after_it() {
    use {Mounter::*, Processes::*, Users::*};
    let write = [mount(What::Writable, "/p q")];
    row(
        One,
        Own,
        Launcher,
        Network::Closed,
        &write,
        "--unshare-pid --unshare-ipc --unshare-net --unshare-user --uid 0 --gid 0 --cap-add CAP_SYS_ADMIN \
         --cap-add CAP_DAC_OVERRIDE --cap-add CAP_SETFCAP \
         --ro-bind / / --dev /dev --proc /proc --bind /p q /p q --chdir / --",
    );
    row(
        All,
        Own,
        Launcher,
        Network::Closed,
        &write,
        "--unshare-pid --unshare-ipc --unshare-net --ro-bind / / --dev /dev --proc /proc \
         --bind /p q /p q --chdir / --",
    );
    row(
        One,
        Shown,
        Bwrap,
        Network::Open,
        &[],
        "--unshare-pid --unshare-ipc --unshare-user --ro-bind / / --dev /dev --chdir / --",
    );
    row(
        All,
        Own,
        Launcher,
        Network::Open,
        &[mount(What::Writable, "/")],
        "--unshare-pid --unshare-ipc --bind / / --dev /dev --proc /proc --chdir / --",
    );
}

#[test]
fn the_launcher_mounts_what_closes() {
    let mounts = [
        mount(What::Writable, "/p"),
        mount(What::Pinned, "/p/.git"),
        mount(What::Frozen, "/p/.git/hooks"),
        mount(What::NoFile, "/p/.env"),
        mount(What::NoFolder { passable: true }, "/h"),
        mount(What::Shown { writable: false }, "/h/a"),
        mount(What::Shown { writable: true }, "/h/b"),
        mount(What::NoFolder { passable: false }, "/i"),
    ];
    let start = "--unshare-pid --unshare-ipc";
    row(
        Users::All,
        Processes::Shown,
        Mounter::Launcher,
        Network::Open,
        &mounts,
        &format!("{start} --ro-bind / / --dev /dev --bind /p /p --bind /h/b /h/b --chdir / --"),
    );
    row(
        Users::All,
        Processes::Shown,
        Mounter::Bwrap,
        Network::Open,
        &mounts,
        &format!(
            "{start} --ro-bind / / --dev /dev --bind /p /p --bind /p/.git /p/.git --ro-bind-try /p/.git/hooks /p/.git/hooks \
             --ro-bind /dev/null /p/.env --perms 0111 --tmpfs /h --ro-bind-try /h/a /h/a --bind /h/b /h/b \
             --perms 0000 --tmpfs /i --remount-ro /i --chdir / --"
        ),
    );
}

#[test]
fn the_best_way_is_tried_first() {
    let ways = Bwrap::ways(Path::new("/b"));
    assert_eq!((ways[0].mounter, ways[0].processes), (Mounter::Launcher, Processes::Own));
    let last = ways.last().unwrap();
    assert_eq!((last.users, last.mounter, last.processes), (Users::One, Mounter::Bwrap, Processes::Shown));
}
