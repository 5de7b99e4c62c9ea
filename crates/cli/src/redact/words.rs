//! Words that are no secrets wherever they stand. Pure.

/// What people and programs write behind `password:` or `--token` that is none, in small letters.
const ORDINARY: &str = "
    a an and any are arg argument arguments as ask asks at be been before but by can cannot change changed changes check
    config configuration correct could create created default defaults denied deny description disabled document does
    empty enabled enter environment error errors example exists expected expired false field fields file files flag flags
    for format forgotten found from function generate generated given handler has have header here hidden his hash hashed
    here how if implementation implicit in incorrect input instead integer invalid is it its keyword length let line
    login long mandatory manager may mean means message method mismatch missing must name named names needed needs never
    new nil no none not nothing null number object of on only open option optional options or other out output page
    parameter parameters parse parser placeholder please policy private process prompt prompts property protected provide
    provided public pub read redacted refresh refused rejected remove request required reset response result return
    returns rotate rotation same scanner see self set sets should show some something standard stdin storage store stored
    str stream string strings struct system text than that the their them then there these they this those through to
    too true type types undefined uninitialized unknown unset update use used user username uses using validate value
    values variable variables verify void wants was were what when where which while will with without work works would
    wrong you your boolean bool bytes vec option box char const static async await body bearer basic digest token tokens
    password passwords passwd passphrase secret secrets credential credentials authorization authentication apikey key
    keys changeme development production testing test tests dev prod staging localhost database server service client session
";

/// Whether `value` is an ordinary word, in whatever letters.
pub(super) fn is_ordinary(value: &str) -> bool {
    let bare = value.trim_end_matches(['?', '!', '.', ':', ',']).to_lowercase();
    ORDINARY.split_whitespace().any(|word| word == bare)
}

/// Whether `value` stands for something else: a variable, a place to fill in, or what was taken out already.
pub(super) fn is_stand_in(value: &str) -> bool {
    let name =
        |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    let within = |open: &str, close: &str| value.starts_with(open) && value.ends_with(close);
    let variable = value.strip_prefix('$').is_some_and(|rest| name(rest) || rest.starts_with(['{', '(']));
    let blank = value.len() > 2 && value.chars().all(|letter| "*x.X_-•…%?#".contains(letter));
    let capitals = value.len() > 3 && value.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
    variable
        || blank
        || capitals
        || [("<", ">"), ("{", "}"), ("[", "]"), ("%", "%")].iter().any(|(open, close)| within(open, close))
        || ["%s", "[key]", "{{", "process.env", "os.environ", "env."].iter().any(|begin| value.starts_with(begin))
}

/// Whether `value` is what a program computes: a call, a path of names, a name that says itself what it holds.
pub(super) fn is_code(value: &str) -> bool {
    let bare = value.trim_start_matches(['&', '*', '!']);
    let is_name =
        |name: &str| !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_');
    let path = || bare.contains('.') && bare.split('.').all(is_name);
    let says = || is_name(bare) && super::named::NAMES.iter().any(|secret| bare.to_lowercase().contains(secret));
    let call = || {
        bare.find(['(', '[']).is_some_and(|at| bare[..at].split(['.', ':']).all(|one| one.is_empty() || is_name(one)))
    };
    bare.contains("::") || bare.contains("->") || path() || says() || call()
}

/// Whether `value` can be told from all other words, so that it can be taken out wherever it stands.
pub(super) fn is_telling(value: &str) -> bool {
    const LEAST: usize = 6;
    let is_path = value.starts_with(['/', '~']) || value.starts_with("./") || value.starts_with("../");
    value.chars().count() >= LEAST && !is_path && !is_ordinary(value) && !is_stand_in(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_secret_is_told() {
        let row = |value: &str, want: [bool; 3]| {
            assert_eq!([is_ordinary(value), is_stand_in(value), is_code(value)], want, "{value}")
        };
        row("hunter22", [false, false, false]);
        row("swordfish", [false, false, false]);
        row("my-secret-token", [false, false, false]);
        row("Required", [true, false, false]);
        row("string?", [true, false, false]);
        row("$PASSWORD", [false, true, false]);
        row("${DB_PASSWORD:-x}", [false, true, false]);
        row("$ecret99!", [false, false, false]);
        row("<token>", [false, true, false]);
        row("{{ vault.token }}", [false, true, false]);
        row("****", [false, true, false]);
        row("YOUR_TOKEN", [false, true, true]);
        row("PASSWORD", [true, true, true]);
        row("parser.next_token()", [false, false, true]);
        row("req.body.word", [false, false, true]);
        row("Token::new", [false, false, true]);
        row("access_token", [false, false, true]);
        row("a.b7.c", [false, false, false]);
    }
}
