//! Killed at any moment, haft has lost nothing that it told: sessions open, go on, and every file is whole.
//!
//! The real binary plays scripted sessions and is killed with its whole process group, at seeded points: after so many
//! bytes of what it says and a while, or at the N-th system call of a kind. A client that reads `run --format json` notes
//! what it was told, and after each kill it is held against what is stored. `HAFT_CRASH_KILLS` and `HAFT_CRASH_SEED`
//! choose how often and with which seed.

pub(crate) mod blow;
mod deed;
mod files;
mod life;
mod scenes;
mod told;

use std::fmt;
use std::time::{Duration, Instant};

use life::Life;
use scenes::SCENES;

/// How often haft is killed where nobody says it.
const KILLS: usize = 60;
/// How often one session is killed before it is brought to its end and another one begins.
const KILLS_EACH: usize = 10;
/// Most runs that may end by themselves, for each that is killed.
const MOST_RUNS_EACH: usize = 3;

/// What came of the kills.
#[derive(Debug, Default)]
pub(crate) struct Score {
    kills: usize,
    /// By system calls.
    by_calls: usize,
    /// Runs that were over before.
    over: usize,
    /// Undos and redos whose outcome was known to the byte.
    undone: usize,
    /// Undos that could not know all: a command was cut off.
    left: usize,
    /// The most that stored text was behind told text.
    behind: Duration,
    lost: Vec<String>,
    unopened: Vec<String>,
    rejected: Vec<String>,
    user_files_changed: Vec<String>,
    not_undone: Vec<String>,
    broken: Vec<String>,
    locked: Vec<String>,
}

impl Score {
    fn add(&mut self, other: Score) {
        self.kills += other.kills;
        self.by_calls += other.by_calls;
        self.over += other.over;
        self.undone += other.undone;
        self.left += other.left;
        self.behind = self.behind.max(other.behind);
        self.lost.extend(other.lost);
        self.unopened.extend(other.unopened);
        self.rejected.extend(other.rejected);
        self.user_files_changed.extend(other.user_files_changed);
        self.not_undone.extend(other.not_undone);
        self.broken.extend(other.broken);
        self.locked.extend(other.locked);
    }

    fn faults(&self) -> impl Iterator<Item = &String> {
        let own = [&self.lost, &self.unopened, &self.rejected];
        own.into_iter().chain([&self.user_files_changed, &self.not_undone, &self.broken, &self.locked]).flatten()
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kills={} lost={} unopened={} rejected={} user_files_changed={} not_undone={} broken_files={} locks_left={} \
             (by system calls {}, over before {}, undone or redone {}, of these left {}, text behind by at most {} ms)",
            self.kills,
            self.lost.len(),
            self.unopened.len(),
            self.rejected.len(),
            self.user_files_changed.len(),
            self.not_undone.len(),
            self.broken.len(),
            self.locked.len(),
            self.by_calls,
            self.over,
            self.undone,
            self.left,
            self.behind.as_millis(),
        )
    }
}

/// A number that the environment may give.
pub(crate) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn a_kill_at_any_moment_loses_nothing_that_was_told() {
    let kills = number("HAFT_CRASH_KILLS").map_or(KILLS, |kills| usize::try_from(kills).unwrap());
    let seed = number("HAFT_CRASH_SEED").unwrap_or(1);
    if !blow::can_trace() {
        eprintln!("strace is not here, or may not look: nothing is killed at a system call");
    }
    let share = kills.div_ceil(SCENES.len());
    let scores: Vec<Score> = std::thread::scope(|scope| {
        let running: Vec<_> = SCENES
            .iter()
            .zip(seed..)
            .map(|(scene, seed)| {
                scope.spawn(move || {
                    let mut score = Score::default();
                    let mut life = 0;
                    while score.kills < share {
                        let (before, began) = (score.kills + score.over, Instant::now());
                        let known = score.faults().count();
                        Life::begin(scene, seed.wrapping_mul(1_000_003).wrapping_add(life)).live(share, &mut score);
                        println!("{} session {life}, {:.1?}: {score}", scene.name, began.elapsed());
                        score.faults().skip(known).for_each(|fault| println!("  {fault}"));
                        assert!(score.kills + score.over > before, "{}: nothing ran", scene.name);
                        life += 1;
                    }
                    score
                })
            })
            .collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = Score::default();
    scores.into_iter().for_each(|score| all.add(score));
    println!("seed={seed} {all}");
    let faults: Vec<&String> = all.faults().collect();
    assert!(faults.is_empty(), "seed={seed} {all}\n{faults:#?}");
    assert!(all.kills >= kills && all.kills > all.over, "too few runs were killed: {all}");
    assert!(all.undone * 3 > all.kills, "too little was taken back: {all}");
    // A rare kill falls into the very moment of a command.
    assert!(all.left * 4 < all.undone, "too much was left: {all}");
}
