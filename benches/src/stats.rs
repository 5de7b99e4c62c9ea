//! Figures of many runs. Pure.

use std::time::Duration;

/// The middle of `values`: of an even number, the higher of the two. `None` of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// Milliseconds.
pub fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

/// The begin and the end of a long row of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Growth {
    /// The median of the first ones.
    pub first: f64,
    /// The median of the last ones.
    pub last: f64,
}

impl Growth {
    /// The first and the last `count` of `steps`, or `None` when these overlap.
    pub fn of(steps: &[f64], count: usize) -> Option<Self> {
        if count == 0 || steps.len() < 2 * count {
            return None;
        }
        let first = median(steps[..count].iter().copied())?;
        let last = median(steps[steps.len() - count..].iter().copied())?;
        Some(Self { first, last })
    }

    /// The growth without `apart`, which is counted elsewhere.
    pub fn without(self, apart: Growth) -> Self {
        Self { first: self.first - apart.first, last: self.last - apart.last }
    }

    /// How many times the first the last is.
    pub fn ratio(self) -> f64 {
        self.last / self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_no_average() {
        assert_eq!(median([]), None);
        assert_eq!(median([9.0]), Some(9.0));
        assert_eq!(median([1.0, 100.0, 2.0]), Some(2.0));
        assert_eq!(median([1.0, 4.0, 2.0, 100.0]), Some(4.0));
    }

    #[test]
    fn growth_is_between_the_ends() {
        let steps = [2.0, 2.0, 50.0, 50.0, 50.0, 3.0, 5.0];
        assert_eq!(Growth::of(&steps, 2), Some(Growth { first: 2.0, last: 5.0 }));
        assert_eq!(Growth::of(&steps, 4), None);
        assert_eq!(Growth::of(&steps, 0), None);
    }

    #[test]
    fn what_is_apart_does_not_count() {
        let growth = Growth { first: 2.0, last: 4.0 };
        assert_eq!(growth.ratio(), 2.0);
        assert_eq!(growth.without(Growth { first: 0.5, last: 2.5 }).ratio(), 1.0);
    }
}
