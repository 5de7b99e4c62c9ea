//! What is read and written.

use crate::look;

#[track_caller]
fn check(command: &str, reads: &[&str], writes: &[&str]) {
    let found = look(command);
    let show = |paths: Vec<std::path::PathBuf>| -> Vec<String> {
        paths.iter().map(|path| path.strip_prefix(crate::PROJECT).unwrap_or(path).display().to_string()).collect()
    };
    assert_eq!(
        (show(found.reads()), show(found.writes())),
        (
            reads.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>(),
            writes.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>(),
        ),
        "{command} {:?}",
        found.unknown
    );
}

#[test]
fn redirections_read_and_write() {
    check("echo x > a", &[], &["a"]);
    check("echo x >> a 2> b", &[], &["a", "b"]);
    check("echo x >| a", &[], &["a"]);
    check("echo x &> a", &[], &["a"]);
    check("echo x >& a", &[], &["a"]);
    check("echo x <> a", &[], &["a"]);
    check("sort < a > b", &["a"], &["b"]);
    check("{ a; b; } > c", &[], &["c"]);
    check("> a", &[], &["a"]);
    check("exec 3> a", &[], &["a"]);
    check("ls > /dev/null 2>&1", &[], &[]);
    check("while read -r x; do :; done < a", &["a"], &[]);
    check("f() { :; } > a", &[], &["a"]);
    check("[[ -f x ]] > a", &[], &["a"]);
    check("cat > ~/.bashrc", &[], &["/home/u/.bashrc"]);
    check("echo x > '/etc/a b'", &[], &["/etc/a b"]);
}

#[test]
fn programs_read_and_write() {
    check("cat -n a b", &["a", "b"], &[]);
    check("head -n 5 a", &["a"], &[]);
    check("grep -e x -f pat a", &["pat", "a"], &[]);
    check("grep /etc/x a", &["a"], &[]);
    check("sort -o out a", &["a"], &["out"]);
    check("sort -oout a", &["a"], &["out"]);
    check("rm -rf a", &[], &["a"]);
    check("cp -r a b c", &["a", "b"], &["c"]);
    check("cp -t d a", &["a"], &["d", "d/a"]);
    check("mv a b", &["a"], &["a", "b"]);
    check("touch -r ref a", &["ref"], &["a"]);
    check("chmod u+x a", &[], &["a"]);
    check("dd if=a of=b", &["a"], &["b"]);
    check("tee -a a", &[], &["a"]);
    check("sed s/a/b/ a", &["a"], &[]);
    check("sed -i s/a/b/ a", &[], &["a"]);
    check("find src -delete", &["src"], &["src"]);
    check("find src -exec rm {} \\;", &["src"], &["src"]);
    check("tar -xf a.tar -C /opt", &["a.tar"], &["/opt"]);
    check("tar cf /tmp/a src", &["src"], &["/tmp/a"]);
    check("git show HEAD:.env", &["HEAD:.env"], &[]);
    check("foo --out=/tmp/x ./y", &["y"], &["/tmp/x"]);
    check("uniq a b", &["a"], &["b"]);
    check("cat a{1,2}", &["a1", "a2"], &[]);
    check("cat /e{t..t}c/passwd", &["/etc/passwd"], &[]);
    check("cat $'\\x2fetc/passwd'", &["/etc/passwd"], &[]);
    check("cat \"/e\\\ntc/passwd\"", &["/etc/passwd"], &[]);
    check("echo /etc/passwd", &[], &[]);
    check("cat -- -n", &["-n"], &[]);
}

#[test]
fn variables_with_one_value_are_followed() {
    check("X=/etc/passwd; cat $X", &["/etc/passwd"], &[]);
    check("cat $HOME/x", &["/home/u/x"], &[]);
    check("cat \"${HOME}\"/x $PWD/y", &["/home/u/x", "y"], &[]);
    check("for f in a b; do cat $f.txt; done", &["a.txt", "b.txt"], &[]);
    check("for f in /etc/*; do cat \"$f\"; done", &["/etc"], &[]);
}

#[test]
fn what_is_not_known_before_the_run_is_unknown() {
    let all = [
        "cat $x",
        "cat \"$x\"",
        "rm -rf ${x:-/tmp}",
        "cat $(ls)",
        "cat `ls`",
        "rm $x/*",
        "cat ~bob/x",
        "cat ~-/x",
        "echo > $x",
        "X=a; X=b; cat $X",
        "[ -f x ] && X=a; cat $X",
        "if true; then X=a; fi; cat $X",
        "X=a; f() { X=/etc; }; f; cat $X",
        "X=a; read X; cat $X",
        "X=a; read Y X; cat $X",
        "X=a; source ./f; cat $X",
        "X=a; eval \"$Y\"; cat $X",
        "(X=a); cat $X",
        "X=a | true; cat $X",
        "X=a & cat $X",
        "X=a cat $X",
        "X+=a; cat $X",
        "X='a b'; cat $X",
        "X='*'; cat $X",
        "for f in a; do f=/etc; cat $f; done",
        "for f in a; do :; done; cat $f",
        "for f in $x; do cat $f; done",
        "cat $1",
        "f() { cat $1; }; f x",
        "X=a; printf -v X b; cat $X",
        "X=a; ((X=1)); cat $X",
        "X=a; : ${X:=b}; cat $X",
        "cat {1..1000}",
        "rm */../../x",
        "cd $x; cat y",
        "cd ~-; cat y",
        "X=a; unset X; cat $X",
        "head -n $N f",
        "grep $x f",
    ];
    let known: Vec<_> = all.iter().filter(|command| look(command).is_known()).collect();
    assert!(known.is_empty(), "{known:#?}");
}

#[test]
fn a_pattern_may_match_the_folder_above() {
    assert!(look("cat .*/x").reads().contains(&"/home/u".into()));
    assert!(look("cat a*").reads().iter().all(|path| path.starts_with(crate::PROJECT)));
}
