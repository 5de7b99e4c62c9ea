//! Command lines, put together from all that bash has words for.

use proptest::prelude::*;
use proptest::sample::select;

/// Programs that are recorders.
pub(crate) const NAMES: [&str; 14] =
    ["expr", "seq", "date", "uname", "id", "basename", "factor", "tr", "rm", "cp", "git", "cat", "tee", "p-q.r"];
/// Programs that are themselves, because they run others.
pub(crate) const REAL: [&str; 10] =
    ["env", "nice", "nohup", "timeout", "setsid", "stdbuf", "xargs", "find", "bash", "sh"];

/// Whole command lines.
pub(crate) fn lines() -> BoxedStrategy<String> {
    let inner = simple(leaf_word()).boxed().prop_recursive(2, 16, 3, |inner| node(inner).boxed()).boxed();
    let line = (statement(inner.clone()), prop::collection::vec((joint(), statement(inner)), 0..3))
        .prop_map(|(first, rest)| joined(first, &rest));
    (prefix(), line).prop_map(|(prefix, line)| format!("{prefix}{line}")).boxed()
}

/// What sets variables and functions for what follows.
fn prefix() -> impl Strategy<Value = &'static str> {
    select(vec![
        "",
        "",
        "",
        "v=x; ",
        "v='a b'; ",
        "v=rm; ",
        "v='*'; ",
        "arr=(p 'q r' s); ",
        "n=3; ",
        "f() { cp \"$1\" z; }; ",
        "set -- m 'n o'; ",
        "shopt -s nullglob; ",
        "set -f; ",
        "set -o noclobber; ",
        "v=in\n",
        "declare v=x; ",
        "local v=x; ",
        "readonly v=q; ",
        "export v=q\n",
        "cd src; ",
        "cd src && ",
        "cd ..; ",
        "unset v; ",
        "read v < in; ",
        "v=x # comment\n",
    ])
}

fn joint() -> impl Strategy<Value = &'static str> {
    select(vec![
        "; ",
        "\n",
        " && ",
        " || ",
        " | ",
        " |& ",
        " & ",
        ";",
        "&&",
        "\n\n",
        " ; # rm x\n",
        "|",
        " &&\n",
        " |\n",
    ])
}

fn joined(first: String, rest: &[(&'static str, String)]) -> String {
    let mut text = first;
    for (joint, next) in rest {
        // A here-document ends with its line.
        if text.ends_with('\n') {
            text.push_str(next);
        } else {
            text.push_str(joint);
            text.push_str(next);
        }
    }
    text
}

fn statement(inner: BoxedStrategy<String>) -> BoxedStrategy<String> {
    prop_oneof![6 => inner.clone(), 1 => here_document(inner)].boxed()
}

/// A command with a here-document; what else is on its line comes before the body.
fn here_document(inner: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let body = prop::collection::vec(
        prop_oneof![
            select(vec![
                "text",
                "rm x",
                "$(cp h i)",
                "`seq h`",
                "\\$(seq q)",
                "'$(tr q)'",
                "${v:-$(id q)}",
                "\"",
                "'",
                "\\\\",
                "$((1+2))",
                "EO",
                "\tx"
            ])
            .prop_map(str::to_owned),
            inner.prop_map(|text| format!("$({})", flat(&text))),
        ],
        0..3,
    );
    let tag = select(vec![
        ("EOF", "EOF"),
        ("'EOF'", "EOF"),
        ("\"EOF\"", "EOF"),
        ("\\EOF", "EOF"),
        ("E\"O\"F", "EOF"),
        ("X-1", "X-1"),
    ]);
    let dash = select(vec!["<<", "<<-", "<< ", "0<<"]);
    let behind =
        select(vec!["", " > out", "; rm after", " | grep q", " && cp after z", " <in", " 2> err", " # x", "; (seq b)"]);
    (select(NAMES.to_vec()), dash, tag, behind, body).prop_map(|(name, dash, (tag, end), behind, body)| {
        let lines: String = body.iter().map(|line| format!("{line}\n")).collect();
        format!("{name} {dash}{tag}{behind}\n{lines}{end}\n")
    })
}

/// The same text without line breaks of its own, so that it can stand in one.
fn flat(text: &str) -> String {
    text.trim_end_matches('\n').to_owned()
}

fn node(inner: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let list = (inner.clone(), prop::collection::vec((joint(), inner.clone()), 0..2))
        .prop_map(|(first, rest)| joined(first, &rest))
        .boxed();
    let word = prop_oneof![3 => leaf_word(), 2 => nested_word(list.clone())].boxed();
    prop_oneof![
        4 => simple(word.clone()),
        3 => compound(list.clone(), word.clone()),
        3 => wrapped(inner.clone(), list.clone()),
        2 => list,
        2 => (inner, redirect(word)).prop_map(|(text, redirect)| format!("{{ {text}\n}} {redirect}")),
    ]
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Commands that run others.
fn wrapped(inner: BoxedStrategy<String>, list: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let before = select(vec![
        "env ",
        "env X=1 ",
        "env -i ",
        "env -u X ",
        "nohup ",
        "timeout 5 ",
        "timeout -s KILL 5 ",
        "nice ",
        "nice -n 1 ",
        "command ",
        "command -p ",
        "exec ",
        "time ",
        "time -p ",
        "! ",
        "stdbuf -oL ",
        "setsid ",
        "env -- ",
        "builtin ",
        "\\env ",
        "'nice' ",
        "env nice ",
        "xargs ",
        "xargs -n1 ",
        "command env ",
        "coproc ",
        "X=1 Y=2 ",
        "exec 3> f3 ",
        ">f4 ",
        "</dev/null ",
    ]);
    let taking = select(vec!["bash -c ", "sh -c ", "eval ", "bash -ec ", "trap -- ", "eval -- "]);
    let find = (simple(leaf_word()), select(vec!["\\;", "+", "';'"]))
        .prop_map(|(text, end)| format!("find src -exec {} {{}} {end}", flat(&text)));
    prop_oneof![
        3 => (before, inner.clone()).prop_map(|(before, text)| format!("{before}{text}")),
        2 => (taking, list).prop_map(|(before, text)| {
            let behind = if before.starts_with("trap") { " EXIT" } else { "" };
            format!("{before}{}{behind}", quoted(&text))
        }),
        1 => find,
        1 => inner.prop_map(|text| format!("echo {} | bash", quoted(&text))),
    ]
}

fn compound(list: BoxedStrategy<String>, word: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let l = || list.clone();
    prop_oneof![
        (l(), l()).prop_map(|(a, b)| format!("if {a}\nthen {b}\nfi")),
        (l(), l(), l()).prop_map(|(a, b, c)| format!("if ! {a}\nthen {b}\nelse {c}\nfi")),
        (l(), l()).prop_map(|(a, b)| format!("while {a}\ndo {b}\nbreak; done")),
        (l(), l()).prop_map(|(a, b)| format!("until ! {a}\ndo {b}\nbreak\ndone")),
        (word.clone(), l()).prop_map(|(w, a)| format!("for v in 1 {w}; do {a}\ndone")),
        l().prop_map(|a| format!("for ((i=0; i<2; i++)); do {a}\ndone")),
        (word.clone(), l(), l()).prop_map(|(w, a, b)| format!("case {w} in a|x) {a}\n;; *) {b}\n;; esac")),
        (word.clone(), l(), l()).prop_map(|(w, a, b)| format!("case x in ({w}) {a}\n;& y) {b}\n;;& esac")),
        l().prop_map(|a| format!("({a}\n)")),
        l().prop_map(|a| format!("{{ {a}\n}}")),
        l().prop_map(|a| format!("g() {{ {a}\n}}; g")),
        (l(), word.clone()).prop_map(|(a, w)| format!("function h {{ {a}\n}} > out; h {w}")),
        (word.clone(), word.clone()).prop_map(|(a, b)| format!("[[ {a} == {b} && -n x ]]")),
        word.clone().prop_map(|a| format!("[ {a} = x ]")),
        l().prop_map(|a| format!("(( $({}) + 1 ))", flat(&a))),
        l().prop_map(|a| format!("[[ -n $({}) ]]", flat(&a))),
        Just("(( n++ , n > 2 ))".to_owned()),
        word.prop_map(|w| format!("v={w}")),
    ]
}

fn simple(word: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let name = prop_oneof![
        12 => select(NAMES.to_vec()).prop_map(str::to_owned),
        1 => select(vec!["r\\m", "'rm'", "r\"\"m", "$'rm'", "$v", "\"$v\"", "./q", "{cp,x}", "r\\\nm", "echo", ":", "printf", "true", "$(echo rm)"])
            .prop_map(str::to_owned),
    ];
    let part = prop_oneof![5 => word.clone(), 2 => redirect(word.clone())];
    let assign = prop_oneof![
        6 => Just(String::new()),
        1 => word.clone().prop_map(|word| format!("v={word} ")),
        1 => redirect(word).prop_map(|redirect| format!("{redirect} ")),
    ];
    (assign, name, prop::collection::vec((select(vec![" ", " ", " ", "  ", "\t", " \\\n"]), part), 0..4))
        .prop_map(|(assign, name, parts)| {
            let parts: String = parts.into_iter().map(|(blank, part)| format!("{blank}{part}")).collect();
            format!("{assign}{name}{parts}")
        })
        .boxed()
}

fn redirect(word: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let target = prop_oneof![
        4 => select(vec!["out", "src/out", "'o p'", "o\\ q", "\"o$((1))\"", "../up", "~/h", "$v", "out.{a,b}", "a.t*t", "in", "$'o\\x41'", "o\"u\"t"])
            .prop_map(str::to_owned),
        1 => word.clone(),
    ];
    let sign = select(vec![
        "> ", ">", ">> ", ">| ", "2> ", "2>>", "&> ", "&>>", ">& ", "<> ", "3> ", "1<>", "{fd}> ", "{fd}>>", "< ",
        "<<< ", "0< ",
    ]);
    prop_oneof![
        8 => (sign, target).prop_map(|(sign, target)| format!("{sign}{target}")),
        2 => select(vec!["2>&1", ">&2", "<&-", "2>&-", "> >(cat s t)", "< <(id s)", "3>&1 >&3-", "2> >(rm s >s2)"]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn leaf_word() -> BoxedStrategy<String> {
    let plain = select(vec![
        "a",
        "b",
        "x1",
        "-f",
        "--opt=v",
        "é",
        "a.txt",
        "src/c",
        "''",
        "'a b'",
        "'$v'",
        "\"it's\"",
        "\"a\\\"b\"",
        "$'\\x41'",
        "\\ ",
        "\\;",
        "{a,b}",
        "{1..3}",
        "a{b,c}",
        "~/q",
        "k=v",
        "a#b",
        "!",
        "=",
        "\\\n",
        "\"\"",
        "'*'",
        "'x\ny'",
        "\\'",
    ]);
    let plain = prop::collection::vec(plain, 1..3).prop_map(|pieces| pieces.concat());
    prop_oneof![3 => plain, 2 => any_word()].boxed()
}

/// A word with anything in it.
fn any_word() -> BoxedStrategy<String> {
    let piece = select(vec![
        "a",
        "b",
        "x1",
        "-f",
        "--opt=v",
        "é",
        "a.txt",
        "src/c",
        "*.txt",
        "?",
        "[ab]",
        "[!a]*",
        "{a,b}",
        "{~/q,b}",
        "{b,~}",
        "k=~:~/q",
        "{1..3}",
        "{a}",
        "{,x}",
        "{a,{b,c}}",
        "{3..1}",
        "{a..c}",
        "~",
        "~/q",
        "=",
        "%",
        "+",
        ":",
        "@",
        "k=v",
        "a#b",
        "!",
        "^",
        "''",
        "'a b'",
        "'$v'",
        "'`'",
        "'\\'",
        "'a\"b'",
        "'*'",
        "'{a,b}'",
        "'x\ny'",
        "\"a b\"",
        "\"$v\"",
        "\"${v}\"",
        "\"a\\\"b\"",
        "\"a\\\\b\"",
        "\"a\\\nb\"",
        "\"\\$v\"",
        "\"it's\"",
        "\"a\\zb\"",
        "\"a$\"",
        "\"\"",
        "$'a\\tb'",
        "$'\\x41'",
        "$'\\''",
        "$'\\101'",
        "$'\\u00e9'",
        "$'a\\\\'",
        "$'\\e'",
        "$\"s\"",
        "\\a",
        "\\ ",
        "\\;",
        "\\\"",
        "\\'",
        "\\\\",
        "\\$v",
        "\\*",
        "\\{a,b}",
        "\\\n",
        "\\#",
        "$v",
        "${v}",
        "${v:-d}",
        "${u:-e f}",
        "${u:=g}",
        "${v:+h}",
        "${#v}",
        "${v%x}",
        "${v#*a}",
        "${v/a/b}",
        "${v^^}",
        "${v:0:1}",
        "$?",
        "$#",
        "\"$@\"",
        "$*",
        "${arr[0]}",
        "\"${arr[@]}\"",
        "$((1+2))",
        "$((n))",
        "$[3]",
        "\"${v:-'q'}\"",
        "${v:-\"q r\"}",
        "${v:-$(seq w)}",
        "\"${u:-`date w x`}\"",
        "$(id w)",
        "`expr w`",
        "\"$(a \"b c\")\"",
        "<(id w)",
        "\"`b \\\"w x\\\"`\"",
        "$(<in)",
        "{x,$(seq w)}",
        "$",
        "a$b",
        "${v}c",
        "@(a|b)",
        "a{b,c}d{e,f}",
        "\"{a,b}\"",
        "{a\\,b,c}",
        "{'a b',c}",
        "a\\{b,c}",
        "${v//[a-z]/q}",
        "${arr[@]:1}",
        "${!v}",
        "${v@Q}",
        "--x={1,2}",
        "~+",
        "~-",
        "a~b",
        "x=~/q",
        "x:~",
        "%%",
        "$$x$v",
        "{a,b",
        "a,b}",
    ]);
    prop::collection::vec(piece, 1..3).prop_map(|pieces| pieces.concat()).boxed()
}

fn nested_word(list: BoxedStrategy<String>) -> impl Strategy<Value = String> {
    let form = select(vec![
        "$(@)",
        "\"$(@)\"",
        "$( @ )",
        "<(@)",
        "${u:-$(@)}",
        "\"a $(@) b\"",
        "x$(@\n)y",
        "$((1 + $(@) 0))",
        "{a,$(@)}",
    ]);
    (form, list).prop_map(|(form, text)| form.replace('@', &flat(&text)))
}
