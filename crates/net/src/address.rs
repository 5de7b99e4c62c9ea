//! Which addresses are the public internet, and which are somebody's own. Pure.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is not the public internet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inside {
    /// This machine.
    Loopback,
    /// A network of somebody's own.
    Private,
    /// The wire that this machine is on; in clouds, what knows its keys.
    LinkLocal,
    /// A service that clouds offer to their own machines only.
    Cloud,
    /// Nothing that is reached as one machine, or nothing that is known.
    Special,
    /// Somebody's own by its name, of which this machine knows no address.
    Named,
}

impl Inside {
    /// For people, after "it is".
    pub fn words(self) -> &'static str {
        match self {
            Inside::Loopback => "an address of this machine",
            Inside::Private => "an address of a private network",
            Inside::LinkLocal => "a link-local address",
            Inside::Cloud => "an address of the cloud's own services",
            Inside::Special => "an address for special purposes",
            Inside::Named => "a name of a private network",
        }
    }
}

/// Why `address` is not the public internet; `None` where it is. Addresses of one kind in the dress of another
/// (mapped, translated, tunnelled) are looked at as what they stand for.
pub fn inside(address: IpAddr) -> Option<Inside> {
    match address {
        IpAddr::V4(address) => inside_v4(address),
        IpAddr::V6(address) => inside_v6(address),
    }
}

/// What names end in that are no names of the public internet.
const OWN_ENDINGS: [&str; 9] =
    [".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".private", ".home.arpa"];

/// Whether `host`, in small letters, is by its looks a name of somebody's own network.
pub(crate) fn is_own_name(host: &str) -> bool {
    let host = host.trim_end_matches('.');
    !host.contains('.') || OWN_ENDINGS.iter().any(|ending| host.ends_with(ending))
}

fn inside_v4(address: Ipv4Addr) -> Option<Inside> {
    match address.octets() {
        [127, ..] => Some(Inside::Loopback),
        // Unspecified: a connection to it reaches this machine.
        [0, ..] => Some(Inside::Loopback),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => Some(Inside::Private),
        [169, 254, ..] => Some(Inside::LinkLocal),
        [168, 63, 129, 16] => Some(Inside::Cloud),
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Some(Inside::Special)
        }
        [224..=255, ..] => Some(Inside::Special),
        _ => None,
    }
}

fn inside_v6(address: Ipv6Addr) -> Option<Inside> {
    let parts = address.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match parts {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Some(Inside::Loopback),
        // Mapped, compatible, and translated at a gateway: the IPv4 address is in the end.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => inside_v4(v4(high, low)),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => inside_v4(v4(high, low)),
        [0x64, 0xff9b, 1, ..] => Some(Inside::Private),
        [0x2002, high, low, ..] => inside_v4(v4(high, low)),
        // A tunnel that names its far end upside down.
        [0x2001, 0, _, _, _, _, high, low] => inside_v4(v4(!high, !low)),
        [0x2001, 0xdb8, ..] | [0x2001, 0x10..=0x2f, ..] | [0x3fff, 0..=0xfff, ..] => Some(Inside::Special),
        [0xfd00, 0xec2, ..] => Some(Inside::Cloud),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Some(Inside::Private),
        [0xfe80..=0xfebf, ..] => Some(Inside::LinkLocal),
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Inside::Special),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_somebodys_own_are_known_by_their_looks() {
        for host in ["wiki", "wiki.", "metadata.google.internal", "nas.local", "nas.local.", "a.b.home.arpa", "x.corp"]
        {
            assert!(is_own_name(host), "{host}");
        }
        for host in ["docs.rs", "local.example", "internal.example.", "notlocal.org", "xn--internal-x.dev"] {
            assert!(!is_own_name(host), "{host}");
        }
    }

    #[test]
    fn only_the_public_internet_is_outside() {
        let row = |address: &str, want: Option<Inside>| {
            assert_eq!(inside(address.parse().unwrap()), want, "{address}");
        };
        for address in ["127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "::1", "::", "::ffff:127.0.0.1", "::127.0.0.1"]
        {
            row(address, Some(Inside::Loopback));
        }
        for address in ["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "100.100.100.200"] {
            row(address, Some(Inside::Private));
        }
        for address in
            ["fc00::1", "fd12::1", "fec0::1", "::ffff:10.1.1.1", "64:ff9b::a00:1", "64:ff9b:1::1", "2002:a00:1::"]
        {
            row(address, Some(Inside::Private));
        }
        for address in ["169.254.169.254", "fe80::1", "febf::1", "::ffff:169.254.169.254", "64:ff9b::169.254.169.254"] {
            row(address, Some(Inside::LinkLocal));
        }
        row("168.63.129.16", Some(Inside::Cloud));
        row("fd00:ec2::254", Some(Inside::Cloud));
        for address in [
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "198.18.0.1",
            "192.0.2.1",
            "192.0.0.192",
            "ff02::1",
            "100::1",
            "2001:db8::1",
            "4000::1",
        ] {
            row(address, Some(Inside::Special));
        }
        // Teredo, whose far end is 192.168.0.1 and 8.8.8.8.
        row("2001:0:1:2:3:4:3f57:fffe", Some(Inside::Private));
        row("2001:0:1:2:3:4:f7f7:f7f7", None);
        for address in [
            "1.1.1.1",
            "172.15.0.1",
            "172.32.0.1",
            "100.128.0.1",
            "169.253.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
            "64:ff9b::808:808",
            "2001:4860::1",
        ] {
            row(address, None);
        }
    }
}
