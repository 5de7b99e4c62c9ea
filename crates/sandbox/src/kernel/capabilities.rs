//! The privileges of root, down to those that ordinary work needs.

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// What root keeps: working on the files of whoever owns the project, running a test or a server as another user and
/// ending it again, and listening on a low port. Each of them is bound by the rules on files, other programs and sockets.
const KEPT: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::NET_BIND_SERVICE);

/// Gives up all but [`KEPT`] and, with `owners`, giving files to others, for good. Who has no privileges loses none.
pub(super) fn give_up(owners: bool) -> Result<(), String> {
    let kept = if owners { KEPT | CapabilitySet::CHOWN } else { KEPT };
    let failed = |errno| format!("privileges cannot be given up: {errno}");
    let now = capabilities(None).map_err(failed)?;
    // Only who may set privileges can bound them; for others they cannot grow any more, as no new ones are possible.
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for one in 0..u64::BITS {
            let one = CapabilitySet::from_bits_retain(1 << one);
            match capability_is_in_bounding_set(one) {
                Ok(true) if !kept.contains(one) => remove_capability_from_bounding_set(one).map_err(failed)?,
                Ok(_) => {}
                // The system knows no more of them.
                Err(_) => break,
            }
        }
    }
    clear_ambient_capability_set().map_err(failed)?;
    let kept = now.permitted & kept;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
        .map_err(failed)
}
