//! What is read off the samples of a scene, and the limits of haft. Pure.

use serde_json::Value;

use crate::sample::Sample;
use crate::scene::{ENDS, Scene};
use crate::size;
use crate::stats::{Growth, median, ms};
use crate::table::{Row, TIMES};

/// The rows of `scene`. `samples` are those of each agent, none where it failed; `apart` is, for a long run of each,
/// what the bytes of its requests cost by themselves.
pub fn rows(scene: Scene, samples: &[Vec<Sample>], apart: &[Option<Growth>]) -> Vec<Row> {
    let row = |id, what, unit, limit, figure: &dyn Fn(&Sample) -> Option<f64>| {
        let figures = samples.iter().map(|samples| median(samples.iter().filter_map(figure))).collect();
        Row { id, what, unit, limit, figures }
    };
    let wall = |sample: &Sample| Some(ms(sample.ran.wall));
    let cpu = |sample: &Sample| Some(ms(sample.ran.cpu));
    let seconds = |sample: &Sample| Some(sample.ran.cpu.as_secs_f64());
    let peak = |sample: &Sample| Some(sample.ran.peak as f64 / 1e6);
    match scene {
        Scene::Version => vec![row("version_wall", "--version, wall", "ms", Some(15.0), &wall)],
        Scene::Answer => {
            let bytes = |sample: &Sample| kilobytes(sample.sizes.first());
            let of_first = |count: fn(&Value) -> usize| {
                move |sample: &Sample| sample.first.as_ref().map(|body| count(body) as f64)
            };
            vec![
                row("answer_wall", "a run with one answer, wall", "ms", Some(60.0), &wall),
                row("answer_cpu", "… CPU with children", "ms", Some(50.0), &cpu),
                row("answer_peak", "… peak memory", "MB", Some(40.0), &peak),
                row("first_request", "… its request", "kB", Some(14.0), &bytes),
                row("defaults", "… tools and static prompt", "tokens", Some(3500.0), &of_first(size::tokens)),
                row("tools", "… of that, tools", "bytes", None, &of_first(size::tools)),
                row("prompt", "… of that, static prompt", "bytes", None, &of_first(size::prompt)),
            ]
        }
        Scene::Calls => {
            let first = |sample: &Sample| sample.steps.first().copied();
            let later = |sample: &Sample| median(sample.steps.iter().skip(1).copied());
            vec![
                row("calls", "a turn of 8 parallel calls", "ms", Some(15.0), &later),
                row("calls_first", "… the first of a process", "ms", None, &first),
            ]
        }
        Scene::Burst => vec![
            row("burst_cpu", "200 kB in 10,000 events, all at once, CPU", "s", Some(0.15), &seconds),
            row("burst_peak", "… peak memory", "MB", None, &peak),
        ],
        Scene::Stream => vec![
            row("stream_cpu", "… 10 events a millisecond, CPU", "s", Some(0.15), &seconds),
            row("stream_wall", "… wall", "ms", None, &wall),
        ],
        Scene::Long => {
            // Steps that cost no more than their bytes have no ratio.
            let own = |at: usize, sample: &Sample| {
                Some(grown(sample)?.without((*apart.get(at)?)?)).filter(|own| own.first > 0.0)
            };
            let ratio = samples
                .iter()
                .enumerate()
                .map(|(at, samples)| median(samples.iter().filter_map(|sample| own(at, sample)).map(Growth::ratio)));
            let given = |id, what, unit, limit, figures| Row { id, what, unit, limit, figures };
            let bytes = apart.iter().map(|apart| apart.map(|apart| apart.last)).collect();
            let what = "the last 20 of 200 steps against the first";
            let all = |sample: &Sample| Some(grown(sample)?.ratio());
            vec![
                given("long_ratio", what, TIMES, Some(1.2), ratio.collect()),
                row("long_ratio_all", "… with the bytes of the request", TIMES, None, &all),
                row("long_first", "… a first step", "ms", None, &|sample| Some(grown(sample)?.first)),
                row("long_last", "… a last step", "ms", None, &|sample| Some(grown(sample)?.last)),
                row("long_request", "… the last request", "kB", None, &|sample| kilobytes(sample.sizes.last())),
                given("long_bytes", "… its bytes, by themselves", "ms", None, bytes),
                row("long_cpu", "… CPU of all", "s", None, &seconds),
            ]
        }
    }
}

/// The lengths of the requests behind the first and behind the last steps of a long run, in bytes.
pub fn request_sizes(sample: &Sample) -> Option<Growth> {
    let sizes: Vec<f64> = sample.sizes.iter().map(|bytes| *bytes as f64).collect();
    Growth::of(sizes.get(2..)?, ENDS)
}

/// The first step also opens files and starts threads that later ones find ready.
fn grown(sample: &Sample) -> Option<Growth> {
    Growth::of(sample.steps.get(1..)?, ENDS)
}

fn kilobytes(bytes: Option<&usize>) -> Option<f64> {
    bytes.map(|bytes| *bytes as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::child::Ran;

    fn sample(cpu_ms: u64, steps: &[f64], sizes: &[usize]) -> Sample {
        let ran = Ran { wall: Duration::from_millis(7), cpu: Duration::from_millis(cpu_ms), peak: 3_000_000 };
        Sample { ran, steps: steps.to_vec(), sizes: sizes.to_vec(), first: None }
    }

    #[track_caller]
    fn check(rows: &[Row], id: &str, want: &[Option<f64>]) {
        let row = rows.iter().find(|row| row.id == id).unwrap();
        assert_eq!(row.figures, want, "{id}");
    }

    #[test]
    fn the_median_of_each_agent_counts() {
        let samples = [vec![sample(10, &[], &[5]), sample(90, &[], &[5]), sample(20, &[], &[5])], Vec::new()];
        let rows = rows(Scene::Answer, &samples, &[]);
        check(&rows, "answer_cpu", &[Some(20.0), None]);
        check(&rows, "answer_peak", &[Some(3.0), None]);
        check(&rows, "first_request", &[Some(0.005), None]);
        check(&rows, "defaults", &[None, None]);
    }

    #[test]
    fn the_first_turn_of_a_process_is_told_apart() {
        let rows = rows(Scene::Calls, &[vec![sample(1, &[50.0, 4.0, 9.0, 5.0], &[])]], &[]);
        check(&rows, "calls", &[Some(5.0)]);
        check(&rows, "calls_first", &[Some(50.0)]);
    }

    #[test]
    fn the_bytes_of_a_long_run_are_taken_apart() {
        // The very first step and the first two requests are not looked at.
        let mut steps = vec![900.0];
        steps.extend([2.0; ENDS]);
        steps.extend([4.0; ENDS]);
        let mut sizes = vec![1, 1];
        sizes.extend([1000; ENDS]);
        sizes.extend([5000; ENDS]);
        let long = sample(1, &steps, &sizes);
        assert_eq!(request_sizes(&long), Some(Growth { first: 1000.0, last: 5000.0 }));

        let all = rows(Scene::Long, &[vec![long.clone()]], &[Some(Growth { first: 2.0, last: 2.5 })]);
        check(&all, "long_ratio", &[None]);

        let rows = rows(Scene::Long, &[vec![long], Vec::new()], &[Some(Growth { first: 1.0, last: 2.5 }), None]);
        check(&rows, "long_ratio", &[Some(1.5), None]);
        check(&rows, "long_ratio_all", &[Some(2.0), None]);
        check(&rows, "long_bytes", &[Some(2.5), None]);
        check(&rows, "long_request", &[Some(5.0), None]);
    }

    #[test]
    fn no_scene_has_a_row_of_another() {
        let rows = Scene::ALL.into_iter().flat_map(|scene| rows(scene, &[], &[]));
        let mut ids: Vec<&str> = rows.map(|row| row.id).collect();
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all);
    }
}
