//! Steps of one path whose order nobody knows, because those who made the changes worked side by side.

use std::collections::HashMap;

use crate::State;

/// Where `steps` lead from `now` when all of them are made, in an order in which each begins where the one before had ended.
/// `None` where there is no such order.
///
/// Steps are ways between states. Whether all of them can be gone in one go, and where that ends, follows from how many
/// begin and end at each state (Euler), so the order itself is not looked for. What somebody else did in between is a way
/// that is missing: then there is no such order, or it ends at what they left.
pub(super) fn end(steps: &[(State, State)], now: &State) -> Option<State> {
    let mut places = Places::default();
    for (from, to) in steps {
        let (from, to) = (places.at(from)?, places.at(to)?);
        places.join(from, to);
    }
    let known = places.len();
    let start = places.at(now)?;
    if places.len() > known || !places.is_one() {
        return None;
    }
    let mut uneven = places.surplus.iter().enumerate().filter(|(_, surplus)| **surplus != 0);
    match (uneven.next(), uneven.next(), uneven.next()) {
        // Once around.
        (None, ..) => Some(now.clone()),
        (Some((one, 1)), Some((end, -1)), None) | (Some((end, -1)), Some((one, 1)), None) if one == start => {
            places.states.get(end).cloned()
        }
        _ => None,
    }
}

/// The states that steps lead between.
#[derive(Default)]
struct Places {
    numbers: HashMap<State, usize>,
    states: Vec<State>,
    /// How many more steps begin there than end there.
    surplus: Vec<i64>,
    /// For each, another one that it hangs together with; itself for one of each group.
    group: Vec<usize>,
}

impl Places {
    fn len(&self) -> usize {
        self.states.len()
    }

    /// The number of a state; `None` where it is not kept, so that nobody can tell it from others.
    fn at(&mut self, state: &State) -> Option<usize> {
        let key = match state {
            State::Unkept { .. } => return None,
            // As for all steps, what is in a folder and who may enter it counts by itself.
            State::Folder { .. } => State::Folder { mode: 0 },
            State::Absent | State::File { .. } | State::Link { .. } => state.clone(),
        };
        let next = self.states.len();
        let number = *self.numbers.entry(key).or_insert(next);
        if number == next {
            self.states.push(state.clone());
            self.surplus.push(0);
            self.group.push(next);
        }
        Some(number)
    }

    fn join(&mut self, from: usize, to: usize) {
        if let Some(surplus) = self.surplus.get_mut(from) {
            *surplus += 1;
        }
        if let Some(surplus) = self.surplus.get_mut(to) {
            *surplus -= 1;
        }
        let (from, to) = (self.root(from), self.root(to));
        if let Some(group) = self.group.get_mut(from) {
            *group = to;
        }
    }

    /// The one that stands for the group of `place`.
    fn root(&mut self, mut place: usize) -> usize {
        while let Some(above) = self.group.get(place).copied().filter(|above| *above != place) {
            let over = self.group.get(above).copied().unwrap_or(above);
            if let Some(group) = self.group.get_mut(place) {
                *group = over;
            }
            place = over;
        }
        place
    }

    /// Whether all hang together.
    fn is_one(&self) -> bool {
        self.group.iter().enumerate().filter(|(place, group)| place == *group).count() == 1
    }
}
