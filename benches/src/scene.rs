//! What the agents have to do, and how to see that they did it. Pure.

use std::time::Duration;

use anyhow::{Result, ensure};
use haft_llm::{Answer, Step};
use serde_json::{Value, json};

use crate::agent::Kind;
use crate::size;

/// Turns of eight calls in one run.
pub const TURNS: usize = 6;
/// Steps of the long run.
pub const LONG: usize = 200;
/// How many steps are the first ones and the last ones of a long run.
pub const ENDS: usize = 20;
/// Events of the long answer, and bytes in each.
pub const EVENTS: usize = 10_000;
/// See [`EVENTS`].
pub const EVENT: usize = 20;
/// Events that a fast model gives in a millisecond.
pub const AT_ONCE: usize = 10;

/// How much of a wrong result a message shows, in characters.
const SHOWN: usize = 200;
/// Files that a turn reads.
const READS: usize = 6;
/// Lines of a file that is read bit by bit, and lines in a bit.
const LINES: usize = 400;
/// See [`LINES`].
const BIT: usize = 5;
/// The long file.
const DATA: &str = "data.txt";
/// What the search finds: the file has the word, and behind it what proves that it was found.
const FOUND: (&str, &str, &str) = ("notes.txt", "needle", "under-the-hay");
/// What the command prints.
const PRINTED: (&str, &str) = ("print.txt", "printed-by-a-command");

/// One thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// `--version`.
    Version,
    /// One prompt, one answer of one word.
    Answer,
    /// Turns of eight calls in one answer: six reads, a search, a command.
    Calls,
    /// A long answer in small events, all there at once.
    Burst,
    /// The same answer as a fast model gives it.
    Stream,
    /// Many steps, each with one read.
    Long,
}

/// What a model wants done.
#[derive(Debug, Clone, PartialEq)]
enum Act {
    /// Read lines from `offset`, counted from 1.
    Read { file: String, offset: usize, lines: usize },
    /// Find a word in all files.
    Search { word: &'static str },
    /// Run a command line.
    Command { line: String },
}

/// An act, and a text that only its result can hold.
#[derive(Debug, Clone, PartialEq)]
struct Wanted {
    act: Act,
    sign: String,
}

impl Scene {
    /// All of them, in the order in which they are measured.
    pub const ALL: [Scene; 6] = [Scene::Version, Scene::Answer, Scene::Calls, Scene::Burst, Scene::Stream, Scene::Long];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Scene::Version => "version",
            Scene::Answer => "answer",
            Scene::Calls => "calls",
            Scene::Burst => "burst",
            Scene::Stream => "stream",
            Scene::Long => "long",
        }
    }

    /// How often each agent does it, by turns.
    pub fn rounds(self) -> usize {
        match self {
            Scene::Version | Scene::Answer => 11,
            Scene::Calls | Scene::Burst => 5,
            Scene::Stream | Scene::Long => 3,
        }
    }

    /// How long one run may take.
    pub fn deadline(self) -> Duration {
        Duration::from_secs(match self {
            Scene::Version | Scene::Answer | Scene::Calls => 60,
            Scene::Burst | Scene::Stream => 120,
            Scene::Long => 600,
        })
    }

    /// The model's answers, in the tools of `kind`.
    pub fn answers(self, kind: Kind) -> Vec<Answer> {
        let done = || Answer::new([Step::text("Hello.")]);
        match self {
            Scene::Version => Vec::new(),
            Scene::Answer => vec![done()],
            Scene::Calls | Scene::Long => {
                let answer = |(step, wanted): (usize, Vec<Wanted>)| {
                    Answer::new(wanted.into_iter().enumerate().map(|(at, wanted)| {
                        let (tool, arguments) = wanted.act.call(kind);
                        // An id of its own in the whole conversation, as real ones are.
                        let id = Some(format!("call_{step}_{at}"));
                        Step::Call { tool: tool.to_owned(), arguments: arguments.to_string(), id }
                    }))
                };
                self.steps().into_iter().enumerate().map(answer).chain([done()]).collect()
            }
            Scene::Burst => vec![Answer::new([Step::Text { text: prose(EVENTS), pieces: EVENTS }])],
            Scene::Stream => {
                let some = prose(EVENTS);
                let some = some.as_bytes().chunks(AT_ONCE * EVENT).map(|bytes| String::from_utf8_lossy(bytes).into());
                let steps = some.flat_map(|text: String| {
                    [Step::Text { text, pieces: AT_ONCE }, Step::Wait(Duration::from_millis(1))]
                });
                vec![Answer::new(steps)]
            }
        }
    }

    /// The files of the project: names and texts.
    pub fn files(self) -> Vec<(String, String)> {
        let lines = |sign: &dyn Fn(usize) -> String| (0..LINES).map(|at| format!("{} and words\n", sign(at))).collect();
        match self {
            Scene::Version | Scene::Answer | Scene::Burst | Scene::Stream => Vec::new(),
            Scene::Calls => {
                let read = (0..READS).map(|file| (name(file), lines(&|at| line_of(file, at))));
                let (notes, word, found) = FOUND;
                let rest = [(notes, format!("{word} {found}\n")), (PRINTED.0, format!("{}\n", PRINTED.1))];
                read.chain(rest.map(|(name, text)| (name.to_owned(), text))).collect()
            }
            Scene::Long => vec![(DATA.to_owned(), lines(&row))],
        }
    }

    /// What is wanted in each step.
    fn steps(self) -> Vec<Vec<Wanted>> {
        match self {
            Scene::Version | Scene::Answer | Scene::Burst | Scene::Stream => Vec::new(),
            Scene::Calls => (0..TURNS).map(turn).collect(),
            // No two reads are the same: some agents stop a model that repeats itself.
            Scene::Long => (0..LONG).map(|at| vec![Wanted::read(DATA.to_owned(), at, row(at))]).collect(),
        }
    }

    /// Makes sure of what is in the requests' `bodies`: that the agent asked as often as it should, and that all calls
    /// did their work. One that was refused or failed would look fast.
    ///
    /// # Errors
    ///
    /// What was not done, and what came instead.
    pub fn check(self, bodies: &[&Value]) -> Result<()> {
        let steps = self.steps();
        let want = match self {
            Scene::Version => 0,
            Scene::Answer | Scene::Calls | Scene::Burst | Scene::Stream | Scene::Long => steps.len() + 1,
        };
        ensure!(bodies.len() == want, "{want} requests were expected, {} came", bodies.len());
        for (step, (wanted, body)) in steps.iter().zip(bodies.iter().skip(1)).enumerate() {
            let results = size::results(body);
            for Wanted { act, sign } in wanted {
                // What is none of the others' results came instead.
                let instead = || -> Vec<String> {
                    let strange = |result: &&String| !wanted.iter().any(|other| result.contains(&other.sign));
                    results.iter().filter(strange).map(|result| result.chars().take(SHOWN).collect()).collect()
                };
                let done = results.iter().any(|result| result.contains(sign));
                ensure!(done, "step {}: {act:?} did not give {sign:?} but {:?}", step + 1, instead());
            }
            ensure!(results.len() == wanted.len(), "step {}: {} results", step + 1, results.len());
        }
        Ok(())
    }
}

impl Wanted {
    /// A read of the lines from `at`, counted from 0, where `sign` is.
    fn read(file: String, at: usize, sign: String) -> Self {
        Self { act: Act::Read { file, offset: at + 1, lines: BIT }, sign }
    }
}

impl Act {
    /// The tool of `kind` for it, and its arguments.
    fn call(&self, kind: Kind) -> (&'static str, Value) {
        match kind {
            Kind::Haft | Kind::OpenCode => match self {
                Act::Read { file, offset, lines } => {
                    ("read", json!({"filePath": file, "offset": offset, "limit": lines}))
                }
                Act::Search { word } => ("grep", json!({"pattern": word})),
                Act::Command { line } => ("bash", json!({"command": line, "description": "Prints a file"})),
            },
            Kind::Codex => {
                let line = match self {
                    Act::Read { file, offset, lines } => format!("sed -n {offset},{}p {file}", offset + lines - 1),
                    Act::Search { word } => format!("grep -rn {word} ."),
                    Act::Command { line } => line.clone(),
                };
                ("exec_command", json!({"cmd": line}))
            }
        }
    }
}

/// Turn number `at`.
fn turn(at: usize) -> Vec<Wanted> {
    let reads = (0..READS).map(|file| Wanted::read(name(file), at, line_of(file, at)));
    let search = Wanted { act: Act::Search { word: FOUND.1 }, sign: FOUND.2.to_owned() };
    let command = Wanted { act: Act::Command { line: format!("cat {}", PRINTED.0) }, sign: PRINTED.1.to_owned() };
    reads.chain([search, command]).collect()
}

fn name(file: usize) -> String {
    format!("file{file}.txt")
}

/// A line that is nowhere else.
fn line_of(file: usize, at: usize) -> String {
    format!("line-{at}-of-{file}")
}

/// A line of the long file.
fn row(at: usize) -> String {
    format!("row-{at:04}")
}

/// Words in lines and paragraphs, `events` times [`EVENT`] bytes of them.
fn prose(events: usize) -> String {
    let words = "the cat sat on a mat and thought of fish while rain fell down upon roofs of grey slate "; // 87 bytes
    let line = |at: usize| if at % 8 == 7 { format!("{words}.\n\n") } else { format!("{words}.\n") };
    let mut text: String = (0..events * EVENT / 89 + 1).map(line).collect();
    text.truncate(events * EVENT);
    text
}

#[cfg(test)]
mod tests {
    use haft_llm::{Beat, Chunk};

    use super::*;

    #[test]
    fn the_long_answer_has_the_size_it_is_said_to_have() {
        for scene in [Scene::Burst, Scene::Stream] {
            let answers = scene.answers(Kind::Haft);
            let sizes: Vec<usize> = answers[0]
                .beats
                .iter()
                .filter_map(|beat| match beat {
                    Beat::Chunk(Chunk::Text(text)) => Some(text.len()),
                    _ => None,
                })
                .collect();
            assert_eq!((sizes.len(), sizes.iter().sum()), (EVENTS, EVENTS * EVENT), "{scene:?}");
            assert!(sizes.iter().all(|size| *size == EVENT), "{scene:?}");
        }
    }

    /// Conversations in which every call gave its sign.
    fn bodies(scene: Scene) -> Vec<Value> {
        let results = scene.steps().into_iter().map(|wanted| {
            let results = wanted.into_iter().map(|wanted| json!({"role": "tool", "content": wanted.sign}));
            json!({"messages": results.collect::<Vec<_>>()})
        });
        [json!({"messages": []})].into_iter().chain(results).collect()
    }

    #[test]
    fn work_that_was_not_done_is_seen() {
        let check = |bodies: &[Value]| Scene::Calls.check(&bodies.iter().collect::<Vec<_>>());
        let good = bodies(Scene::Calls);
        check(&good).unwrap();
        assert!(check(&good[..TURNS]).unwrap_err().to_string().starts_with("7 requests were expected, 6 came"));

        let mut failed = good.clone();
        failed[3]["messages"][6]["content"] = json!("there is no tool grep");
        let error = check(&failed).unwrap_err().to_string();
        let want = r#"step 3: Search { word: "needle" } did not give "under-the-hay" but ["there is no tool grep"]"#;
        assert_eq!(error, want);
    }

    #[test]
    fn no_call_says_what_its_result_has_to_say() {
        for kind in [Kind::Haft, Kind::OpenCode, Kind::Codex] {
            for Wanted { act, sign } in [Scene::Calls, Scene::Long].into_iter().flat_map(Scene::steps).flatten() {
                let (_, arguments) = act.call(kind);
                assert!(!arguments.to_string().contains(&sign), "{kind:?}: {arguments} has {sign}");
            }
        }
    }

    #[test]
    fn the_files_hold_what_is_looked_for() {
        for scene in [Scene::Calls, Scene::Long] {
            let all: String = scene.files().into_iter().map(|(_, text)| text).collect();
            for Wanted { sign, .. } in scene.steps().into_iter().flatten() {
                assert!(all.contains(&sign), "{sign}");
            }
        }
    }

    #[test]
    fn no_two_calls_of_the_long_run_are_the_same() {
        let mut calls: Vec<String> =
            Scene::Long.steps().into_iter().flatten().map(|wanted| format!("{:?}", wanted.act)).collect();
        calls.sort();
        calls.dedup();
        assert_eq!(calls.len(), LONG);
    }
}
