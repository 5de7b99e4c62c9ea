//! Which machine an argument names, where it certainly names one.

/// The machine in a web address, `scheme://user@machine:port/path`.
pub(crate) fn of_url(text: &str) -> Option<String> {
    let (scheme, rest) = text.split_once("://")?;
    let named = scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c)) && !scheme.is_empty();
    let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let machine = place.rsplit('@').next().unwrap_or_default();
    if !named || scheme.eq_ignore_ascii_case("file") || place.contains('\\') {
        return None;
    }
    plain(without_port(machine))
}

/// The machine in `user@machine`, perhaps with a port.
pub(crate) fn of_machine(text: &str) -> Option<String> {
    if text.contains("://") {
        return of_url(text);
    }
    plain(without_port(text.rsplit('@').next().unwrap_or_default()))
}

/// The machine in `user@machine:path`, as `scp`, `rsync` and `git` take it. `None`: it is a path here.
pub(crate) fn of_remote(text: &str) -> Option<String> {
    if text.contains("://") {
        return of_url(text);
    }
    let (machine, _) = match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:")?,
        None => text.split_once(':')?,
    };
    let machine = machine.rsplit('@').next().unwrap_or_default();
    if machine.contains('/') { None } else { plain(machine) }
}

fn without_port(text: &str) -> &str {
    if let Some(inner) = text.strip_prefix('[') {
        return inner.split(']').next().unwrap_or_default();
    }
    match text.split_once(':') {
        // More than one colon: an address of six parts without brackets.
        Some((machine, rest)) if !rest.contains(':') => machine,
        Some(_) | None => text,
    }
}

/// A name that can be one of a machine, in small letters. One of `curl`'s patterns is none: it stands for several.
fn plain(name: &str) -> Option<String> {
    let fits = |c: char| c.is_alphanumeric() || "-._:%".contains(c);
    let fine = !name.is_empty() && name.len() <= 253 && !name.starts_with(['-', '.']) && name.chars().all(fits);
    fine.then(|| name.trim_end_matches('.').to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_told_from_addresses() {
        type Find = fn(&str) -> Option<String>;
        let rows: [(Find, &str, Option<&str>); 20] = [
            (of_url, "https://example.com/a:b@c", Some("example.com")),
            (of_url, "http://u:p@Example.COM:8080/x", Some("example.com")),
            (of_url, "http://good.com@evil.com/", Some("evil.com")),
            // Programs differ about which of the two it is.
            (of_url, "http://good.com\\@evil.com/", None),
            (of_url, "http://[::1]:80/", Some("::1")),
            (of_url, "git+ssh://git@host/x", Some("host")),
            (of_url, "file:///etc/passwd", None),
            (of_url, "example.com/x", None),
            (of_url, "http://{a,b}.com/", None),
            (of_machine, "u@host", Some("host")),
            (of_machine, "host:22", Some("host")),
            (of_machine, "ssh://u@host:22", Some("host")),
            (of_machine, "fe80::1", Some("fe80::1")),
            (of_machine, "-oProxyCommand=x", None),
            (of_remote, "git@github.com:a/b.git", Some("github.com")),
            (of_remote, "host:", Some("host")),
            (of_remote, "a/b:c", None),
            (of_remote, "../x", None),
            (of_remote, "u@[::1]:x", None),
            (of_remote, "https://example.com./x", Some("example.com")),
        ];
        for (find, text, want) in rows {
            assert_eq!(find(text).as_deref(), want, "{text}");
        }
    }
}
