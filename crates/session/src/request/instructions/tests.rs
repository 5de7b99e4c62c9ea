use super::*;
use haft_permission::Answerer;
use haft_protocol::Clock;
use std::fs;

/// One page, which everybody may read, and one that only the user may name.
struct Shelf;

impl Pages for Shelf {
    fn read<'a>(&'a self, url: &'a str, by_user: bool, limit: usize) -> BoxFuture<'a, Result<String, String>> {
        let text = match (url, by_user) {
            ("https://example.org/rules.md", _) | ("http://localhost/rules.md", true) => Ok(format!(" {url} ")),
            (long, _) if long.contains("long.md") => Ok("x".repeat(limit)),
            _ => Err("it is not there".to_owned()),
        };
        Box::pin(async { text })
    }
}

struct Ground {
    folder: tempfile::TempDir,
    place: Place,
}

impl Ground {
    fn with(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("top/sub/deep")).unwrap();
        for (name, text) in files {
            let path = base.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let place =
            Place { directory: base.join("top/sub"), worktree: Some(base.join("top")), project_id: "p".to_owned() };
        Self { folder, place }
    }

    fn base(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    async fn told(&self, instructions: &mut Instructions, wanted: &InstructionFiles) -> (String, bool) {
        let clock = Clock::scripted(1);
        let gate = Gate::new(clock.clone(), Answerer::Nobody, |_| {});
        let asker = Asker { session: clock.mint(), call: None };
        let changed = instructions.refresh(wanted, Some(&Shelf), &self.place, &gate, &asker).await;
        let text = instructions.text(&Marks::default());
        (text.replace(&self.base().display().to_string(), "BASE"), changed)
    }

    async fn check(&self, wanted: &InstructionFiles, want: &[(&str, &str)]) {
        let rows = want.iter().map(|(path, text)| format!("\n\nInstructions from: BASE/{path}\n{text}"));
        let (text, _) = self.told(&mut Instructions::default(), wanted).await;
        assert_eq!(text, rows.collect::<String>());
    }
}

fn named_by(by_user: bool, patterns: &[&str]) -> InstructionFiles {
    let named = patterns.iter().map(|pattern| Named { pattern: (*pattern).to_owned(), by_user });
    InstructionFiles { named: named.collect(), without_project: true, ..InstructionFiles::default() }
}

#[tokio::test]
async fn the_first_name_that_is_found_wins_and_all_files_of_it_are_told() {
    let ground = Ground::with(&[
        ("AGENTS.md", "outside"),
        ("top/AGENTS.md", "top"),
        ("top/sub/AGENTS.md", " sub\n"),
        ("top/sub/CLAUDE.md", "no"),
        ("top/sub/deep/AGENTS.md", "deeper"),
    ]);
    let wanted = InstructionFiles::default();
    ground.check(&wanted, &[("top/sub/AGENTS.md", "sub"), ("top/AGENTS.md", "top")]).await;
    ground.check(&InstructionFiles { without_project: true, ..wanted }, &[]).await;
    let ground = Ground::with(&[("top/CONTEXT.md", "old"), ("top/sub/CLAUDE.md", "claude")]);
    ground.check(&InstructionFiles::default(), &[("top/sub/CLAUDE.md", "claude")]).await;
    let without = InstructionFiles { without_claude: true, ..InstructionFiles::default() };
    ground.check(&without, &[("top/CONTEXT.md", "old")]).await;
}

#[tokio::test]
async fn of_the_users_own_files_the_first_is_told() {
    let ground = Ground::with(&[("home/AGENTS.md", "mine"), ("home/CLAUDE.md", "no"), ("top/AGENTS.md", "top")]);
    let global = ["none.md", "home/AGENTS.md", "home/CLAUDE.md"].map(|name| ground.base().join(name)).to_vec();
    let wanted = InstructionFiles { global, ..InstructionFiles::default() };
    ground.check(&wanted, &[("home/AGENTS.md", "mine"), ("top/AGENTS.md", "top")]).await;
}

#[tokio::test]
async fn settings_name_files_by_path_and_by_pattern() {
    let ground = Ground::with(&[
        ("top/docs/a.md", "a"),
        ("top/docs/b.txt", "no"),
        ("top/docs/c.md", "c"),
        ("top/docs/more/d.md", "d"),
        ("top/sub/docs/e.md", "e"),
        ("top/.git/docs/f.md", "no"),
    ]);
    let rows =
        |names: &[&'static str]| names.iter().map(|name| (*name, &name[name.len() - 4..][..1])).collect::<Vec<_>>();
    let check = async |pattern: &str, names: &[&'static str]| {
        ground.check(&named_by(false, &[pattern]), &rows(names)).await;
    };
    check("docs/a.md", &["top/docs/a.md"]).await;
    check("docs/*.md", &["top/sub/docs/e.md", "top/docs/a.md", "top/docs/c.md"]).await;
    check("docs/**/*.md", &["top/sub/docs/e.md", "top/docs/a.md", "top/docs/c.md", "top/docs/more/d.md"]).await;
    check("doc?/{a,c}.md", &["top/docs/a.md", "top/docs/c.md"]).await;
    check("none/*.md", &[]).await;
    check("docs/[", &[]).await;
}

#[tokio::test]
async fn settings_name_addresses_too_and_each_is_read_once() {
    let ground = Ground::with(&[("top/AGENTS.md", "top")]);
    let page = "https://example.org/rules.md";
    let told = async |by_user: bool, urls: &[&str]| {
        ground.told(&mut Instructions::default(), &named_by(by_user, urls)).await.0
    };
    let want = format!("\n\nInstructions from: {page}\n{page}");
    assert_eq!(told(false, &[page, page, "https://example.org/none.md"]).await, want);
    assert_eq!(told(false, &["http://localhost/rules.md"]).await, "");
    assert!(told(true, &["http://localhost/rules.md"]).await.contains("Instructions from: http://localhost"));
    let many: Vec<String> = (0..=MAX_PAGES).map(|n| format!("https://example.org/long.md?{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(told(false, &many).await.matches("Instructions from").count(), MAX_ALL / MAX_BYTES);
    let (mut instructions, wanted) = (Instructions::default(), named_by(false, &[page]));
    assert!(ground.told(&mut instructions, &wanted).await.1);
    assert!(!ground.told(&mut instructions, &wanted).await.1);
    let row = |url: &str, want: &str| assert_eq!(host(url), want);
    row("https://example.org/a@b", "example.org");
    row("http://me:key@[::1]:80?x", "[::1]:80");
}

#[tokio::test]
async fn a_project_opens_nothing_outside_itself() {
    let ground = Ground::with(&[("secret.md", "key"), ("home/rules.md", "mine")]);
    std::os::unix::fs::symlink(ground.base().join("secret.md"), ground.base().join("top/AGENTS.md")).unwrap();
    ground.check(&InstructionFiles::default(), &[]).await;
    let absolute = ground.base().join("secret.md").display().to_string();
    for pattern in [absolute.as_str(), "../../secret.md", "~/rules.md"] {
        let home = Some(ground.base().join("home"));
        ground.check(&InstructionFiles { home: home.clone(), ..named_by(false, &[pattern]) }, &[]).await;
    }
    let wanted = InstructionFiles { home: Some(ground.base().join("home")), ..named_by(true, &["~/rules.md"]) };
    ground.check(&wanted, &[("home/rules.md", "mine")]).await;
}

#[tokio::test]
async fn a_file_is_read_again_when_it_changed_and_only_then() {
    let ground = Ground::with(&[("top/AGENTS.md", "one")]);
    let (mut instructions, wanted) = (Instructions::default(), InstructionFiles::default());
    assert!(ground.told(&mut instructions, &wanted).await.1);
    assert!(!ground.told(&mut instructions, &wanted).await.1);
    fs::write(ground.base().join("top/AGENTS.md"), "another").unwrap();
    let (text, changed) = ground.told(&mut instructions, &wanted).await;
    assert!(changed && text.ends_with("another"), "{text}");
    fs::remove_file(ground.base().join("top/AGENTS.md")).unwrap();
    assert_eq!(ground.told(&mut instructions, &wanted).await, (String::new(), true));
}

#[tokio::test]
async fn there_are_bounds() {
    let ground = Ground::with(&[("top/AGENTS.md", &"é".repeat(MAX_BYTES))]);
    let (text, _) = ground.told(&mut Instructions::default(), &InstructionFiles::default()).await;
    assert!(text.len() < MAX_BYTES + 200 && text.ends_with("for the rest)"), "{}", text.len());
    let many: Vec<(String, String)> =
        (0..MAX_FILES + 5).map(|n| (format!("top/docs/{n:02}.md"), "x".repeat(MAX_BYTES / 6))).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let ground = Ground::with(&many);
    let (text, _) = ground.told(&mut Instructions::default(), &named_by(false, &["docs/*.md"])).await;
    assert!(text.len() < MAX_ALL + 10_000, "{}", text.len());
    assert!(text.matches("Instructions from").count() <= MAX_FILES);
}

#[tokio::test]
async fn what_is_no_text_is_left_out() {
    let ground = Ground::with(&[("top/AGENTS.md", "a\0b")]);
    ground.check(&InstructionFiles::default(), &[]).await;
}
