use std::collections::BTreeMap;

use super::super::catalogue::{Wish, known, with};
use super::*;

/// A project at `/p` in words: `NAME` is a program on `PATH`, `DEEP/NAME` or `./NAME` one in the project, and `NAME: TEXT`
/// a file.
struct Scene {
    programs: Vec<String>,
    files: BTreeMap<String, String>,
}

impl Scene {
    fn of(things: &[&str]) -> Self {
        let (files, programs): (Vec<&str>, Vec<&str>) = things.iter().partition(|thing| thing.contains(": "));
        let file = |file: &str| file.split_once(": ").map(|(name, text)| (name.to_owned(), text.to_owned()));
        let files = files.into_iter().filter_map(file).collect();
        Self { programs: programs.into_iter().map(str::to_owned).collect(), files }
    }

    fn has(&self, name: &str) -> bool {
        self.programs.iter().any(|one| one == name)
    }
}

impl Eyes for Scene {
    fn program(&self, name: &str) -> Option<PathBuf> {
        self.has(name).then(|| Path::new("/usr/bin").join(name))
    }

    fn above(&self, path: &str) -> Option<PathBuf> {
        (self.has(path) || self.has(&format!("./{path}"))).then(|| Path::new("/p").join(path))
    }

    fn texts(&self, name: &str) -> Vec<String> {
        self.files.get(name).cloned().into_iter().collect()
    }

    fn is_inside(&self, path: &Path) -> bool {
        path.starts_with("/p")
    }
}

/// The programs that are run for the file called `file` where there are `things`.
fn chosen(wishes: Vec<Wish>, trusted: bool, things: &[&str], file: &str) -> Vec<String> {
    let (all, _) = with(known(), wishes);
    let judged = choose(&all, trusted, false, &Scene::of(things));
    let used = all.iter().zip(judged).filter(|(one, judged)| fits(one, file) && judged.is_ok());
    used.map(|(_, judged)| judged.unwrap().display().to_string()).collect()
}

#[track_caller]
fn check(things: &[&str], file: &str, want: &[&str]) {
    assert_eq!(chosen(Vec::new(), true, things, file), want, "{file} with {things:?}");
}

const PRETTIER: &str = r#"package.json: {"devDependencies": {"prettier": "3"}}"#;

#[test]
fn what_is_installed_and_used_is_chosen() {
    check(&["rustfmt"], "a.rs", &["/usr/bin/rustfmt"]);
    check(&["rustfmt"], "a.go", &[]);
    check(&[], "a.rs", &[]);
    check(&["gofmt"], "main.go", &["/usr/bin/gofmt"]);
    check(&["shfmt"], ".sh", &[]);
    check(&["prettier"], "a.ts", &[]);
    check(&["prettier", PRETTIER], "a.ts", &["/usr/bin/prettier"]);
    check(&["prettier", "node_modules/.bin/prettier", PRETTIER], "a.ts", &["/p/node_modules/.bin/prettier"]);
    check(&["prettier", "package.json: {\"scripts\": {\"prettier\": \"x\"}}"], "a.ts", &[]);
    check(&["prettier", "package.json: no json prettier"], "a.ts", &[]);
    check(&["biome", "biome.json: {}", "prettier", PRETTIER], "a.css", &["/usr/bin/prettier", "/usr/bin/biome"]);
    check(&["clang-format"], "a.c", &[]);
    check(&["clang-format", ".clang-format: BasedOnStyle: LLVM"], "a.H", &["/usr/bin/clang-format"]);
    check(&["ruff"], "a.py", &[]);
    check(&["ruff", "uv", "pyproject.toml: [tool.ruff]"], "a.py", &["/usr/bin/ruff"]);
    check(&["ruff", "uv", "pyproject.toml: [tool.black]"], "a.pyi", &["/usr/bin/uv"]);
    check(&["ruff", "requirements.txt: ruff==1"], "a.py", &["/usr/bin/ruff"]);
    let pint = r#"composer.json: {"require-dev": {"laravel/pint": "1"}}"#;
    check(&["vendor/bin/pint", pint], "a.php", &["/p/vendor/bin/pint"]);
    check(&["vendor/bin/pint", "composer.json: {}"], "a.php", &[]);
    check(&["htmlbeautifier"], "a.html.erb", &["/usr/bin/htmlbeautifier"]);
    check(&["oxfmt", r#"package.json: {"dependencies": {"oxfmt": "1"}}"#], "a.ts", &[]);
}

#[test]
fn what_runs_the_project_waits_until_that_is_trusted() {
    let row = |things: &[&str], file: &str, want: &[&str]| {
        assert_eq!(chosen(Vec::new(), false, things, file), want, "{file} with {things:?}");
    };
    row(&["rustfmt"], "a.rs", &["/usr/bin/rustfmt"]);
    row(&["biome", "biome.json: {}"], "a.ts", &["/usr/bin/biome"]);
    row(&["node_modules/.bin/biome", "biome.json: {}"], "a.ts", &[]);
    row(&["prettier", PRETTIER], "a.ts", &[]);
    row(&["rubocop", "mix"], "a.rb", &[]);
}

#[test]
fn what_the_settings_name_needs_no_sign() {
    let wish = |command: &[&str]| Wish {
        name: "clang-format".to_owned(),
        command: Some(command.iter().map(|&word| word.to_owned()).collect()),
        ..Wish::default()
    };
    let row = |command: &[&str], things: &[&str], want: &[&str]| {
        assert_eq!(chosen(vec![wish(command)], true, things, "a.c"), want, "{command:?}");
    };
    row(&["clang-format", "$FILE"], &["clang-format"], &["/usr/bin/clang-format"]);
    row(&["./fmt.sh", "$FILE"], &["./fmt.sh"], &["/p/fmt.sh"]);
    row(&["tools/fmt.sh", "$FILE"], &["tools/fmt.sh"], &["/p/tools/fmt.sh"]);
    row(&["/opt/fmt", "$FILE"], &[], &["/opt/fmt"]);
    row(&["fmt", "$FILE"], &[], &[]);
    assert_eq!(chosen(vec![wish(&["./fmt.sh", "$FILE"])], false, &["./fmt.sh"], "a.c"), [""; 0]);
}

#[test]
fn why_one_is_not_used_is_said() {
    let (all, _) = with(known(), vec![Wish { name: "gofmt".to_owned(), disabled: true, ..Wish::default() }]);
    let judged = choose(&all, false, false, &Scene::of(&["gofmt", "prettier", PRETTIER, "ruff"]));
    let why = |name: &str| {
        let at = all.iter().position(|one| one.name == name).unwrap();
        judged[at].clone().unwrap_err().to_string()
    };
    assert_eq!(why("gofmt"), "the settings switch it off");
    assert_eq!(why("rustfmt"), "rustfmt is not installed");
    assert!(why("prettier").starts_with("it runs what stands in the project, which is not trusted"));
    assert!(why("ruff").contains("there is no ruff.toml, no .ruff.toml, no pyproject.toml that names ruff"));
    assert!(why("oxfmt").contains("HAFT_EXPERIMENTAL_OXFMT=1"));
}

#[test]
fn what_a_project_says_goes_into_the_command() {
    let all = known();
    let rustfmt = all.iter().find(|one| one.name == "rustfmt").unwrap();
    let row = |things: &[&str], want: &str| assert_eq!(filled(rustfmt, &Scene::of(things))[2], want, "{things:?}");
    row(&[], "2021");
    row(&["Cargo.toml: [package]\nedition = \"2024\"\n"], "2024");
    row(&["Cargo.toml: edition.workspace = true"], "2021");
    row(&["Cargo.toml: edition = \"--config-path /x\""], "2021");
    row(&["Cargo.toml: edition = \"2024"], "2021");
}

#[test]
fn the_name_of_a_file_is_no_command() {
    let row = |command: &[&str], file: &str, want: &[&str]| {
        let command: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(words(&command, Path::new(&command[0]), file), want, "{command:?} {file}");
    };
    row(&["f", "-w", "$FILE"], "/p/a b;c", &["f", "-w", "/p/a b;c"]);
    row(&["f", "--file=$FILE", "x"], "/p/a", &["f", "--file=/p/a", "x"]);
    row(&["sh", "-c", "echo '# x' >> $FILE"], "/p/a.fmt", &["sh", "-c", "echo '# x' >> /p/a.fmt"]);
    row(&["sh", "-c", "fmt \"$FILE\""], "/p/$(touch x)", &["sh", "-c", "fmt \"$FILE\""]);
    row(&["env", "bash", "-euc", "fmt $FILE"], "/p/a;b", &["env", "bash", "-euc", "fmt $FILE"]);
    row(&["python3", "-c", "f('$FILE')"], "/p/a'b", &["python3", "-c", "f('$FILE')"]);
    row(&["sh", "fmt.sh", "$FILE"], "/p/a;b", &["sh", "fmt.sh", "/p/a;b"]);
    row(&["sh", "-c", "fmt \"$1\"", "sh", "$FILE"], "/p/a b", &["sh", "-c", "fmt \"$1\"", "sh", "/p/a b"]);
}
