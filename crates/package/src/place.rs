//! Where in a tree a package is put, as Node then finds it. Pure.

use std::collections::BTreeMap;

/// The folders in which Node looks for `name` from the package in `from`, nearest first. The empty `from` is the top.
pub(crate) fn ways<'a>(from: &'a str, name: &'a str) -> impl Iterator<Item = String> + 'a {
    let mut next = Some(from);
    std::iter::from_fn(move || {
        let at = next?;
        next = (!at.is_empty()).then(|| at.rsplit_once("/node_modules/").map_or("", |(above, _)| above));
        Some(if at.is_empty() { format!("node_modules/{name}") } else { format!("{at}/node_modules/{name}") })
    })
}

/// Where `name` goes that `from` needs: to the top where there is room, else below whoever needs it.
pub(crate) fn place<T>(there: &BTreeMap<String, T>, from: &str, name: &str) -> String {
    let all: Vec<String> = ways(from, name).collect();
    // The highest folder below which nothing of the name stands in the way.
    let free = all.iter().take_while(|folder| !there.contains_key(*folder)).last();
    free.or(all.first()).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_go_up_as_far_as_there_is_room() {
        let there =
            |folders: &[&str]| folders.iter().map(|folder| ((*folder).to_owned(), ())).collect::<BTreeMap<_, _>>();
        let all: Vec<String> = ways("node_modules/a/node_modules/@s/b", "c").collect();
        assert_eq!(
            all,
            ["node_modules/a/node_modules/@s/b/node_modules/c", "node_modules/a/node_modules/c", "node_modules/c"]
        );
        assert_eq!(place(&there(&[]), "node_modules/a", "b"), "node_modules/b");
        assert_eq!(place(&there(&["node_modules/b"]), "node_modules/a", "b"), "node_modules/a/node_modules/b");
        assert_eq!(place(&there(&[]), "", "b"), "node_modules/b");
    }
}
