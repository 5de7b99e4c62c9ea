//! Holds what our program gives against what the reference program gave; see `tests/oracle`.
//!
//! `cases/` has one file for each subject (a *set*), one case a line. `HAFT_CASES` names another folder to take them
//! from. **Never here:** anything that the program itself uses.
