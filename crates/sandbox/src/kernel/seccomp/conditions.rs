//! When a call is meant: conditions on its arguments, numbered from 0.

use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};

/// One condition on an argument.
#[derive(Debug, Clone, Copy)]
pub(super) enum When {
    /// Its lower half is this.
    Is(u8, u32),
    /// Its lower half is something else.
    IsNot(u8, u32),
    /// Its lower half has all these bits.
    Has(u8, u32),
    /// Its lower half has this where the mask is set.
    Masked(u8, u32, u32),
    /// It is no null pointer.
    Points(u8),
}

/// A rule that is met where all of `conditions` are.
///
/// # Panics
///
/// Where an argument's number is more than 5 or there is no condition, which the tests would show.
pub(super) fn all_of(conditions: &[When]) -> SeccompRule {
    let conditions = conditions.iter().map(|condition| {
        let (argument, size, operator, value) = match *condition {
            When::Is(argument, value) => (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value),
            When::IsNot(argument, value) => (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value),
            When::Has(argument, bits) => {
                (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(u64::from(bits)), bits)
            }
            When::Masked(argument, mask, value) => {
                (argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(u64::from(mask)), value)
            }
            When::Points(argument) => (argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0),
        };
        SeccompCondition::new(argument, size, operator, u64::from(value)).expect("arguments go from 0 to 5")
    });
    SeccompRule::new(conditions.collect()).expect("a rule has a condition")
}

/// Rules of which one is met where argument `argument` has any of `bits`, and `also` holds.
pub(super) fn any_bit(argument: u8, bits: u32, also: &[When]) -> Vec<SeccompRule> {
    let each = (0..u32::BITS).map(|place| 1 << place).filter(|bit| bits & bit != 0);
    each.map(|bit| all_of(&[&[When::Has(argument, bit)], also].concat())).collect()
}
