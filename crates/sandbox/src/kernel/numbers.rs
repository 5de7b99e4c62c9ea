//! Numbers of system calls that are not named anywhere else; the same on every processor.

pub(super) const FCHMODAT2: i64 = 452;
pub(super) const SETXATTRAT: i64 = 463;
pub(super) const REMOVEXATTRAT: i64 = 466;
pub(super) const OPEN_TREE_ATTR: i64 = 467;
pub(super) const FILE_SETATTR: i64 = 469;
