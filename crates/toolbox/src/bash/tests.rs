//! The tool on a temporary project, with real shells.

use haft_permission::Action;

use super::*;
use crate::scene::Scene;

#[tokio::test]
async fn output_comes_with_title_and_exit_code() {
    let scene = Scene::new();
    let output = scene.run("bash", json!({"command": "echo hi; echo there >&2"})).await.unwrap();
    assert_eq!((output.title.as_str(), output.text.as_str()), ("echo hi; echo there >&2", "hi\nthere\n"));
    let want = json!({"output": "hi\nthere\n", "exit": 0, "truncated": false});
    assert_eq!(Value::from(output.metadata), want);
    let output = scene.run("bash", json!({"command": "true", "description": "Do nothing"})).await.unwrap();
    assert_eq!((output.title.as_str(), output.text.as_str()), ("Do nothing", "(no output)"));
    assert_eq!(output.metadata["output"], "(no output)");
}

#[tokio::test]
async fn a_failing_command_is_told_and_is_no_error() {
    let scene = Scene::new();
    let output = scene.run("bash", json!({"command": "echo no; exit 3"})).await.unwrap();
    assert_eq!((output.text.as_str(), &output.metadata["exit"]), ("no\n(exit code 3)", &json!(3)));
    assert_eq!(output.metadata["output"], "no\n");
    let output = scene.run("bash", json!({"command": "exit 3"})).await.unwrap();
    assert_eq!((output.text.as_str(), &output.metadata["exit"]), ("(no output)\n(exit code 3)", &json!(3)));
    assert_eq!(output.metadata["output"], "(no output)");
    let output = scene.run("bash", json!({"command": "kill -9 $$"})).await.unwrap();
    assert_eq!((output.text.as_str(), &output.metadata["exit"]), ("(no output)\n(ended by signal 9)", &Value::Null));
}

#[tokio::test]
async fn it_runs_in_the_working_folder_or_where_it_is_told() {
    let scene = Scene::new();
    let pwd = async |workdir: Option<&str>| {
        let input = match workdir {
            Some(workdir) => json!({"command": "pwd", "workdir": workdir}),
            None => json!({"command": "pwd"}),
        };
        scene.run("bash", input).await.unwrap().text
    };
    assert_eq!(pwd(None).await, format!("{}\n", scene.path("").trim_end_matches('/')));
    assert_eq!(pwd(Some("src")).await, format!("{}\n", scene.path("src")));
    assert!(scene.asked("external_directory").is_empty());
    assert_eq!(pwd(Some("../outside")).await, format!("{}\n", scene.path("../outside")));
    let asked = scene.asked("external_directory");
    assert_eq!(asked[0].patterns, [scene.path("../outside/*")]);
    assert_eq!(asked[0].metadata["directories"], json!([scene.path("../outside")]));
}

#[tokio::test]
async fn without_leave_nothing_runs_outside() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("external_directory", "*", Action::Deny)]);
    std::os::unix::fs::symlink("../outside", scene.path("link")).unwrap();
    for workdir in ["../outside", "link", "src/../../outside", "../none", "/"] {
        let error = scene.run("bash", json!({"command": "touch made", "workdir": workdir})).await.expect_err(workdir);
        assert_eq!(error.kind(), "denied", "{workdir}");
    }
    assert!(scene.asked("bash").is_empty());
    assert!(!std::path::Path::new(&scene.path("../outside/made")).exists());
}

#[tokio::test]
async fn bad_arguments_are_refused() {
    let scene = Scene::new();
    scene.put("file", "");
    scene.fails("bash", json!({"command": " \n"}), "command is empty").await;
    scene.fails("bash", json!({"command": "true", "timeout": 0}), "timeout").await;
    scene.fails("bash", json!({"command": "true", "timeout": -5}), "timeout").await;
    for workdir in ["none", "file"] {
        scene.fails("bash", json!({"command": "true", "workdir": workdir}), "is no folder; give one that exists").await;
    }
}

#[tokio::test]
async fn every_command_of_a_line_is_asked_for() {
    let scene = Scene::with_rules(&[("edit", "*", Action::Allow), ("bash", "git status *", Action::Allow)]);
    scene.run("bash", json!({"command": "git status --short"})).await.unwrap();
    let error = scene.run("bash", json!({"command": "git status; touch made"})).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    let asked = scene.asked("bash");
    assert_eq!(asked[1].patterns, ["git status", "touch made"]);
    assert_eq!(asked[1].always, ["git status *", "touch *"]);
    assert!(!asked[0].opaque && !asked[1].opaque);
    let shown = json!({"command": "git status; touch made", "effects": ["writes made in the project"]});
    assert_eq!(asked[1].metadata, *shown.as_object().unwrap());
    assert!(!std::path::Path::new(&scene.path("made")).exists());
}

#[tokio::test]
async fn what_must_be_changed_is_asked_for_by_name() {
    let rules = [("*", "*", Action::Allow), ("edit", "*.lock", Action::Deny)];
    let scene = Scene::with_rules(&rules);
    let outside = scene.path("../outside/new");
    let input = json!({"command": "true", "workdir": "src", "write": ["a", "../b", outside, " "]});
    scene.fails("bash", input, "write: \" \" leads nowhere").await;
    scene.run("bash", json!({"command": "true", "workdir": "src", "write": ["a", "../b", outside]})).await.unwrap();
    let border = &scene.asked("external_directory")[0];
    assert_eq!(border.patterns, [scene.path("../outside/*")]);
    // What is not there yet needs its folder.
    assert!(border.effects.contains(&haft_permission::Effect::Change(scene.path("../outside").into())));
    let asked = &scene.asked("edit")[0];
    assert_eq!(asked.patterns, ["../outside/new", "b", "src/a"]);
    assert!(asked.effects.contains(&haft_permission::Effect::Change(scene.path("src/a").into())));
    assert_eq!(
        scene.asked("bash")[0].metadata["effects"][0],
        format!("changes, as the agent says: a, ../b, {outside}")
    );
    let denied = scene.run("bash", json!({"command": "true", "write": ["x.lock"]})).await.unwrap_err();
    assert_eq!(denied.kind(), "denied");
    // Without a cage nothing is closed that could be asked for.
    scene.run("bash", json!({"command": "true", "network": true})).await.unwrap();
    assert!(scene.asked("network").is_empty());
}

#[tokio::test]
async fn a_text_that_is_not_understood_is_asked_for_as_a_whole() {
    let scene = Scene::with_rules(&[
        ("edit", "*", Action::Allow),
        ("bash", "git *", Action::Allow),
        ("bash", "touch *", Action::Allow),
    ]);
    for command in ["git status; touch $X/made", "git status; touch made &&", "git $(echo status) || touch made"] {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied");
    }
    let asked = scene.asked("bash");
    assert_eq!(asked[0].patterns, ["git status; touch $X/made", "git status", "touch $X/made"]);
    assert!(asked.iter().all(|access| access.opaque && access.always.is_empty()));
    assert_eq!(asked[0].metadata["unknown"], json!(["the path $X/made is not known before the run"]));
    assert!(!std::path::Path::new(&scene.path("made")).exists());
}

#[tokio::test]
async fn to_go_somewhere_needs_no_leave_to_run() {
    let scene = Scene::with_rules(&[("bash", "*", Action::Deny), ("external_directory", "*", Action::Deny)]);
    for command in ["cd src", "cd src && cd ..", "[ -d src ]"] {
        scene.run("bash", json!({"command": command})).await.expect(command);
    }
    for command in ["cd ..", "cd /", "cd src/../..", "cd $X", "cd"] {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command}");
    }
}

#[tokio::test]
async fn folders_outside_are_asked_for_first() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("external_directory", "*", Action::Deny)]);
    scene.put("../outside/secret", "");
    std::os::unix::fs::symlink("../outside", scene.path("link")).unwrap();
    std::os::unix::fs::symlink("../../outside/secret", scene.path("src/file")).unwrap();
    std::fs::create_dir(scene.path("../outside/deep")).unwrap();
    std::os::unix::fs::symlink("../outside/deep", scene.path("deep")).unwrap();
    for command in [
        "cat ../outside/secret",
        "echo x > ../outside/secret",
        "ls ../outside",
        "cat link/secret",
        "cat src/file",
        "cat src/fil*",
        "cat lin*/secret",
        "cat deep/../secret",
        "cd src && cat ../../outside/secret",
        "cp ../outside/secret .",
        "true; (rm -rf ../outside)",
        "sh -c 'cat ../outside/secret'",
        "find .. -name secret",
        "unheard --of=../outside/secret",
    ] {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command}");
        assert!(scene.asked("bash").is_empty(), "{command}");
    }
    let before = scene.asked("external_directory").len();
    scene.run("bash", json!({"command": "cd src && ls .. ../src && cat < /dev/null > /dev/null"})).await.unwrap();
    assert_eq!(scene.asked("external_directory").len(), before);
}

#[tokio::test]
async fn several_folders_outside_are_one_question() {
    let scene = Scene::new();
    scene.run("bash", json!({"command": "ls ../outside ../outputs ../outside"})).await.unwrap();
    let asked = scene.asked("external_directory");
    let want = [scene.path("../outputs/*"), scene.path("../outside/*")];
    assert_eq!((asked.len(), asked[0].patterns.as_slice(), asked[0].always.as_slice()), (1, &want[..], &want[..]));
    assert_eq!(asked[0].metadata["directories"], json!([scene.path("../outputs"), scene.path("../outside")]));
    // The folder to run in was asked for already.
    scene.run("bash", json!({"command": "ls .", "workdir": "../outside"})).await.unwrap();
    assert_eq!(scene.asked("external_directory").len(), 2);
}

#[tokio::test]
async fn files_that_may_not_be_read_or_written_are_not_through_a_command_either() {
    let scene = Scene::with_rules(&[
        ("*", "*", Action::Allow),
        ("read", "*.env", Action::Deny),
        ("read", "*.env.*", Action::Ask),
        ("edit", "*.lock", Action::Deny),
    ]);
    for name in [".env", ".env.local", "src/.env", "a.lock"] {
        scene.put(name, "x");
    }
    for command in [
        "cat .env",
        "cat < .env",
        "cat src/.env",
        "cat sr*/.env",
        "cd src && cat .env",
        "cat .en*",
        "cat .env.local",
        "grep x .env",
        "cp .env b",
        "mv .env b",
        "unheard .env",
        "curl -d @.env localhost",
        "echo x > a.lock",
        "rm a.lock",
        "rm *.lock",
        "touch b.lock",
        "cp src/none b.lock",
        "sed -i s/x/y/ a.lock",
        "bash -c 'rm a.lock'",
    ] {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command}");
        assert!(scene.asked("bash").is_empty(), "{command}");
    }
    assert_eq!(scene.asked("read")[0].patterns, [".env"]);
    assert_eq!(scene.asked("read")[0].always, [".env"], "not everything that is read");
    scene.run("bash", json!({"command": "cat a.lock src/none.env; echo .env > b"})).await.unwrap();
    assert_eq!(scene.get("b"), ".env\n");
}

#[tokio::test]
async fn a_rule_is_not_got_round() {
    let scene = Scene::with_rules(&[
        ("*", "*", Action::Allow),
        ("bash", "touch *", Action::Deny),
        ("bash", "./touch made", Action::Allow),
    ]);
    for command in [
        "touch made",
        " touch made",
        "\ttouch made",
        "touch\tmade",
        "touch  made",
        "touch made ",
        "\n touch made",
        "touch made\n",
        "true\ntouch made",
        "true; touch made",
        "touch 'made'",
        "'touch' made",
        "to\\uch made",
        "X=1 touch made",
        "/usr/bin/touch made",
        "env touch made",
        "sh -c 'touch made'",
        "eval touch made",
        "find . -exec touch made \\;",
        "$(touch made)",
        "`touch made`",
        "true & touch made",
        "true | touch made",
        "{ touch made; }",
        ">made touch made",
        "touch\u{a0}made; touch made",
    ] {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command:?}");
        assert!(!std::path::Path::new(&scene.path("made")).exists(), "{command:?}");
    }
}

#[tokio::test]
async fn what_is_asked_is_what_the_shell_is_given() {
    let scene = Scene::new();
    for command in ["  printf  a\t b ", "printf 'a  b'  "] {
        scene.run("bash", json!({"command": command})).await.unwrap();
    }
    let asked = scene.asked("bash");
    let patterns: Vec<&str> = asked.iter().map(|access| access.patterns[0].as_str()).collect();
    assert_eq!(patterns, ["printf  a\t b", "printf 'a  b'"]);
    assert_eq!(asked[0].patterns[1], "printf a b");
    assert_eq!(asked[0].metadata, *json!({"command": "  printf  a\t b "}).as_object().unwrap());
    scene.run("bash", json!({"command": "pwd", "workdir": "src"})).await.unwrap();
    assert_eq!(scene.asked("bash")[2].metadata["workdir"], scene.path("src"));
}

#[tokio::test]
async fn a_pattern_that_may_stand_for_too_much_is_not_understood() {
    let scene = Scene::new();
    for at in 0..touched::MAX_MATCHES {
        scene.put(&format!("src/{at}"), "");
    }
    scene.run("bash", json!({"command": "ls src/*"})).await.unwrap();
    scene.put("src/more", "");
    scene.run("bash", json!({"command": "ls src/*"})).await.unwrap();
    let opaque: Vec<bool> = scene.asked("bash").iter().map(|access| access.opaque).collect();
    assert_eq!(opaque, [false, true]);
}

#[tokio::test]
async fn progress_is_shown_while_it_runs() {
    let scene = Scene::new();
    let call = scene.bench.call();
    let go = scene.path("go");
    let command = format!("echo first; while ! test -e {go}; do :; done; echo second");
    let run = scene.registry.run("bash", json!({"command": command}), &call);
    let watch = async {
        scene.bench.until_shown(|_, metadata| metadata["output"] == "first\n").await;
        scene.put("go", "");
    };
    let (output, ()) = tokio::join!(run, watch);
    assert_eq!(output.unwrap().text, "first\nsecond\n");
    assert_eq!(scene.bench.shown()[0].1["output"], "");
    assert_eq!(scene.bench.shown()[0].0, command);
}

#[tokio::test]
async fn the_user_can_stop_it_and_what_it_wrote_stays() {
    let scene = Scene::new();
    let call = scene.bench.call();
    let run = scene.registry.run("bash", json!({"command": "trap '' TERM; echo begun; sleep 1000"}), &call);
    let stop = async {
        scene.bench.until_shown(|_, metadata| metadata["output"] == "begun\n").await;
        scene.bench.cancel.cancel();
    };
    let (output, ()) = tokio::join!(run, stop);
    let output = output.unwrap();
    assert_eq!(output.text, "begun\n\n\n<shell_metadata>\nThe user stopped the command.\n</shell_metadata>");
    let want = json!({"output": "begun\n", "exit": null, "truncated": false, "interrupted": true});
    assert_eq!(Value::from(output.metadata), want);
}

#[tokio::test]
async fn it_ends_when_its_time_is_over() {
    let scene = Scene::new();
    for command in ["sleep 1000", "trap '' TERM; sleep 1000"] {
        let output = scene.run("bash", json!({"command": command, "timeout": "20"})).await.unwrap();
        let start = "(no output)\n\n<shell_metadata>\nThe command was stopped because it ran longer than 20 ms.";
        assert!(output.text.starts_with(start), "{}", output.text);
        let want = json!({"output": "(no output)", "exit": null, "truncated": false});
        assert_eq!(Value::from(output.metadata), want);
    }
}

#[tokio::test]
async fn the_time_is_what_the_model_says_or_what_it_is_told() {
    assert_eq!(Options::default().command_time, Duration::from_millis(120_000));
    let scene = Scene::new();
    let timeout = &scene.registry.spec("bash").unwrap().parameters["properties"]["timeout"];
    assert_eq!(timeout["description"], "Milliseconds, 120000 when left out.");
    let output = scene.run("bash", json!({"command": "echo done", "timeout": u64::MAX})).await.unwrap();
    assert_eq!(output.text, "done\n");
}

#[tokio::test]
async fn a_flood_is_shown_now_and_then() {
    let scene = Scene::new();
    let begun = Instant::now();
    scene.run("bash", json!({"command": "yes | head -c 20000000"})).await.unwrap();
    // However slow the machine is: the beginning, the first piece, and one more for each interval since.
    let most = begun.elapsed().as_millis() / SHOW_EVERY.as_millis() + 2;
    let shown = scene.bench.shown().len();
    assert!(shown >= 2 && shown as u128 <= most, "{shown} of {most}");
}

#[tokio::test]
async fn the_background_does_not_hold_the_call_and_becomes_a_job() {
    let scene = Scene::new();
    for (at, command) in
        ["sleep 1000 & echo started", "setsid sleep 1000 >/dev/null 2>&1 & echo started"].iter().enumerate()
    {
        let output = scene.run("bash", json!({"command": command})).await.unwrap();
        let id = format!("job_{}", at + 1);
        let start = format!(
            "started\n\n\n<shell_metadata>\nWhat the command left running (sleep 1000) goes on as {id}: see job_output"
        );
        assert!(output.text.starts_with(&start), "{}", output.text);
        let want = json!({"output": "started\n", "exit": 0, "truncated": false, "jobId": id});
        assert_eq!(Value::from(output.metadata), want);
        let ended = scene.run("job_kill", json!({"id": id})).await.unwrap();
        assert_eq!(ended.metadata["status"], "killed");
    }
}

#[tokio::test]
async fn what_was_stopped_leaves_nothing() {
    let scene = Scene::new();
    let command = "setsid sh -c 'trap : TERM; echo $$; while :; do sleep 1000; done' & wait; sleep 1000";
    let output = scene.run("bash", json!({"command": command, "timeout": 300})).await.unwrap();
    let (pid, notes) = output.text.split_once('\n').unwrap();
    assert!(notes.contains("ran longer than 300 ms") && !notes.contains("job"), "{notes}");
    assert!(!std::path::Path::new("/proc").join(pid).join("exe").exists());
    assert_eq!(scene.run("job_output", json!({})).await.unwrap().metadata["jobs"], json!([]));
}

#[tokio::test]
async fn a_terminal_is_there_on_request() {
    let scene = Scene::new();
    let command = "test -t 1 && printf '\\033[1m%s\\033[0m\\n' bold && printf 'ok %s\\r' 1 2; stty size";
    let output = scene.run("bash", json!({"command": command, "pty": true})).await.unwrap();
    assert_eq!(output.text, "bold\n40 120\n");
    let output = scene.run("bash", json!({"command": "tty; exit 3"})).await.unwrap();
    assert_eq!(output.text, "not a tty\n(exit code 3)");
}

#[tokio::test]
async fn an_output_of_any_size_is_kept_whole_and_shown_at_its_end() {
    let scene = Scene::new();
    let output = scene.run("bash", json!({"command": "seq 1 400000"})).await.unwrap();
    assert!(output.text.starts_with("...output truncated...\n\nShowing the last 1999 of 400000 lines."));
    assert!(output.text.ends_with("\n400000\n"));
    assert_eq!(output.metadata["truncated"], true);
    let kept = std::fs::read_to_string(output.metadata["outputPath"].as_str().unwrap()).unwrap();
    assert_eq!(kept, (1..=400_000).map(|number| format!("{number}\n")).collect::<String>());
    let preview = output.metadata["output"].as_str().unwrap();
    assert!(preview.starts_with("...\n\n") && preview.chars().count() == 30_005);
}

#[tokio::test]
async fn who_may_hand_on_tasks_is_told_to_let_another_look() {
    let scene = Scene::new();
    let hint = "To look through much of it, give its path to explore with `task`.";
    let told = async |input: Value| scene.run("bash", input).await.unwrap().text.contains(hint);
    assert!(!told(json!({"command": "seq 1 3000"})).await);
    scene.bench.delegates(&["explore", "general"]);
    assert!(told(json!({"command": "seq 1 3000"})).await);
    // In what a job wrote too, at the first look or the second.
    let command = json!({"command": "seq 1 3000", "background": true});
    let begun = scene.run("bash", command).await.unwrap();
    let ended = scene.run("job_output", json!({"id": begun.metadata["jobId"], "wait": 600_000})).await.unwrap();
    assert!(begun.text.contains(hint) || ended.text.contains(hint), "{}", ended.text);
    // One that asks an agent that may not.
    scene.bench.delegates(&["general", ".explore"]);
    assert!(!told(json!({"command": "seq 1 3000"})).await);
}

#[tokio::test]
async fn what_is_kept_are_the_bytes_themselves() {
    let scene = Scene::new();
    let command = "i=0; while [ $i -lt 2500 ]; do printf '\\033[3%dm%d\\000\\r\\n' $((i % 8)) $i; i=$((i + 1)); done";
    let output = scene.run("bash", json!({"command": command})).await.unwrap();
    assert!(output.text.ends_with("\n2498\u{2400}\n2499\u{2400}\n"));
    let kept = std::fs::read(output.metadata["outputPath"].as_str().unwrap()).unwrap();
    assert!(kept.starts_with(b"\x1b[30m0\0\r\n\x1b[31m1\0\r\n"));
    // Of a long output that is short to read there is no file.
    let command = "yes 'at work' | head -c 300000 | tr '\\n' '\\r'; echo 'done   '";
    let output = scene.run("bash", json!({"command": command})).await.unwrap();
    assert_eq!(output.text, "done   \n");
    assert_eq!(output.metadata["truncated"], false);
    assert_eq!(std::fs::read_dir(scene.path("../outputs")).unwrap().count(), 1);
}

#[tokio::test]
async fn many_short_lines_are_kept_too() {
    let scene = Scene::new();
    let output = scene.run("bash", json!({"command": "seq 1 2500"})).await.unwrap();
    let kept = std::fs::read_to_string(output.metadata["outputPath"].as_str().unwrap()).unwrap();
    assert_eq!(kept.lines().count(), 2500);
}

#[tokio::test]
async fn what_is_no_text_is_made_safe() {
    let scene = Scene::new();
    let command = "printf 'a\\377b\\033[31mc\\000d\\n 10%%\\r100%%\\n\\033]0;title\\007'";
    let output = scene.run("bash", json!({"command": command})).await.unwrap();
    assert_eq!(output.text, "a\u{fffd}bc\u{2400}d\n100%\n");
    assert_eq!(output.metadata["output"], output.text);
}

#[tokio::test]
async fn what_shows_variables_or_connects_is_asked_for_though_it_runs_no_command() {
    let scene = Scene::with_rules(&[("bash", "*", Action::Deny), ("edit", "*", Action::Allow)]);
    for command in [
        "declare -p",
        "export",
        "export -p",
        "> /dev/tcp/127.0.0.1/9",
        "x=${U:?$HOME}",
        "[[ $HOME -eq 1 ]]",
        "[ $HOME -eq 1 ]",
        "((HOME))",
        "cd src; x=${U:?$HOME}",
    ] {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command}");
    }
}

#[tokio::test]
async fn what_fills_a_folder_needs_leave_for_what_is_in_it() {
    let scene = Scene::with_rules(&[
        ("*", "*", Action::Allow),
        ("edit", "*.git*", Action::Deny),
        ("edit", "*own.json", Action::Deny),
    ]);
    scene.put_deep(".git/hooks/old", "");
    scene.put("own.json", "");
    scene.put_deep("evil/own.json", "x");
    for command in
        ["tar xf a.tar", "cp -r evil/. .", "cp -rT evil .", "cp evil/* .", "cp -r evil/.git .", "mv -t . evil/own.json"]
    {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command}");
        assert!(scene.asked("bash").is_empty(), "{command}");
    }
    scene.run("bash", json!({"command": "cp -r evil/. src; cp evil/o* src"})).await.unwrap();
}

#[tokio::test]
async fn patterns_are_followed_through_folders() {
    let scene = Scene::with_rules(&[
        ("*", "*", Action::Allow),
        ("external_directory", "*", Action::Deny),
        ("read", "src/deep/secret.txt", Action::Deny),
    ]);
    scene.put_deep("src/deep/secret.txt", "x");
    scene.put("../outside/f", "");
    std::os::unix::fs::symlink("../../outside", scene.path("src/away")).unwrap();
    for command in
        ["cat s*/deep/secret.txt", "cat */deep/s*", "cat src/*/secret.txt", "cat */*/*", "cat s*/away/f", "cat */a*/f"]
    {
        let error = scene.run("bash", json!({"command": command})).await.expect_err(command);
        assert_eq!(error.kind(), "denied", "{command}");
        assert!(scene.asked("bash").is_empty(), "{command}");
    }
    let rules = [("*", "*", Action::Allow), ("read", "*.own", Action::Deny)];
    let other = Scene::with_rules(&rules);
    other.put(".x.own", "x");
    // Both patterns begin at the same folder.
    assert!(other.run("bash", json!({"command": "cat * .*"})).await.is_err());
    scene.run("bash", json!({"command": "ls s*/deep/o* ; ls -d */ sr*/d*/"})).await.unwrap();
}

#[tokio::test]
async fn a_link_of_the_same_line_is_gone_through() {
    let scene = Scene::with_rules(&[("*", "*", Action::Allow), ("read", "*.env", Action::Deny)]);
    scene.put(".env", "x");
    let command = "ln -s .. src/up && cat src/up/.env";
    let error = scene.run("bash", json!({"command": command})).await.unwrap_err();
    assert_eq!(error.kind(), "denied");
    assert!(scene.asked("bash").is_empty());
}
