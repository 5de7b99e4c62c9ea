//! Runs scripts for whoever is at the other end of the standard streams, in no cage. For tests: `haft` starts itself for
//! that, and gives up all rights first.

fn main() {
    haft_script::serve();
}
