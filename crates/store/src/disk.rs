//! Which file systems are another machine's: there the write-ahead log does not work, because it needs memory that all
//! processes share.

use std::path::Path;

/// How far a lock reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Locks {
    /// To every machine that has the disk mounted.
    Everywhere,
    /// Not to another machine, or only with some settings of the server.
    Here,
}

/// File systems that are, or may be, another machine's: the number that `statfs` gives, the name, and how far a lock of
/// SQLite's kind (`fcntl`) reaches there.
const NETWORK: &[(u64, &str, Locks)] = &[
    (0x6969, "NFS", Locks::Everywhere),
    (0xff53_4d42, "CIFS", Locks::Everywhere),
    (0xfe53_4d42, "SMB", Locks::Everywhere),
    (0x517b, "SMB", Locks::Everywhere),
    (0x0102_1997, "9p", Locks::Here),
    // Most are sshfs or the like; one that is local works the careful way as well.
    (0x6573_5546, "FUSE", Locks::Here),
    (0x5346_414f, "AFS", Locks::Here),
    (0x6b41_4653, "AFS", Locks::Here),
    (0x7375_7245, "Coda", Locks::Here),
    (0x00c3_6400, "Ceph", Locks::Everywhere),
    (0x0bd0_0bd0, "Lustre", Locks::Here),
    (0x7461_636f, "OCFS2", Locks::Here),
    (0x0116_1970, "GFS2", Locks::Everywhere),
    (0x1983_0326, "BeeGFS", Locks::Here),
    (0x4750_4653, "GPFS", Locks::Everywhere),
    (0x564c, "NCP", Locks::Here),
];

/// The same by the names that `statfs` of macOS gives.
#[cfg(any(target_vendor = "apple", test))]
const NAMED: &[(&str, &str)] = &[
    ("nfs", "NFS"),
    ("smbfs", "SMB"),
    ("afpfs", "AFP"),
    ("webdav", "WebDAV"),
    ("macfuse", "FUSE"),
    ("osxfuse", "FUSE"),
];

/// The name of the file system with this number, if it is a network's.
#[cfg(any(target_os = "linux", test))]
pub(crate) fn network(number: u64) -> Option<&'static str> {
    NETWORK.iter().find(|(known, ..)| *known == number).map(|(_, name, _)| *name)
}

/// Whether a lock on a network file system of this name reaches the other machines.
pub(crate) fn locks_reach(kind: &str) -> bool {
    NETWORK.iter().any(|(_, name, locks)| *name == kind && *locks == Locks::Everywhere)
}

/// The network file system that holds `path`, or its nearest folder that exists.
#[cfg(target_os = "linux")]
pub fn network_of(path: &Path) -> Option<&'static str> {
    let place = path.ancestors().find(|place| place.exists())?;
    let number = rustix::fs::statfs(place).ok()?.f_type;
    // 32 bits everywhere, and with a sign on some machines.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the kernel's numbers have 32 bits")]
    let number = u64::from(number as u32);
    network(number)
}

/// The name of the file system that macOS calls so, if it is a network's.
#[cfg(any(target_vendor = "apple", test))]
fn named(name: &[u8]) -> Option<&'static str> {
    NAMED.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, name)| *name)
}

/// The network file system that holds `path`, or its nearest folder that exists.
#[cfg(target_vendor = "apple")]
pub fn network_of(path: &Path) -> Option<&'static str> {
    let place = path.ancestors().find(|place| place.exists())?;
    let name = rustix::fs::statfs(place).ok()?.f_fstypename;
    let name: Vec<u8> = name.iter().map(|byte| byte.cast_unsigned()).take_while(|byte| *byte != 0).collect();
    named(&name)
}

/// Elsewhere it is not known.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub fn network_of(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_told_by_their_numbers() {
        let rows = [
            (0x6969, Some("NFS")),
            (0xff53_4d42, Some("CIFS")),
            (0xfe53_4d42, Some("SMB")),
            (0x0102_1997, Some("9p")),
            (0x6573_5546, Some("FUSE")),
            (0xef53, None),      // ext4
            (0x9123_683e, None), // btrfs
            (0x5846_5342, None), // xfs
            (0x0102_1994, None), // tmpfs
            (0x794c_7630, None), // overlay
            (0x2fc1_2fc1, None), // zfs
        ];
        for (number, want) in rows {
            assert_eq!(network(number), want, "{number:x}");
        }
        for (name, want) in [("nfs", Some("NFS")), ("smbfs", Some("SMB")), ("apfs", None), ("hfs", None), ("", None)] {
            assert_eq!(named(name.as_bytes()), want, "{name}");
        }
        assert!(locks_reach("NFS") && locks_reach("SMB"));
        assert!(!locks_reach("FUSE") && !locks_reach("9p") && !locks_reach("AFP") && !locks_reach("unheard of"));
    }
}
