//! What a word becomes when the shell has read it: characters of which some still mean something.

/// How a character came into a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Written plainly: braces and patterns work.
    Plain,
    /// From a variable: patterns work, braces do not.
    Expanded,
    /// Quoted or escaped: it stands for itself.
    Quoted,
}

/// A word, or one of those that it may become.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) Vec<(char, Kind)>);

impl Text {
    pub(crate) fn new(text: &str, kind: Kind) -> Self {
        Self(text.chars().map(|c| (c, kind)).collect())
    }

    pub(crate) fn push_str(&mut self, text: &str, kind: Kind) {
        self.0.extend(text.chars().map(|c| (c, kind)));
    }

    pub(crate) fn string(&self) -> String {
        self.0.iter().map(|(c, _)| *c).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Where a pattern begins in it, in characters.
    pub(crate) fn glob_at(&self) -> Option<usize> {
        if !self.0.iter().any(|(c, kind)| *kind != Kind::Quoted && matches!(c, '*' | '?' | '[')) {
            return None;
        }
        let works = |(c, kind): &(char, Kind), set: &[char]| *kind != Kind::Quoted && set.contains(c);
        let closed = self.0.iter().rposition(|one| works(one, &[']'])).unwrap_or(0);
        let begins = |at: usize, one: &(char, Kind)| works(one, &['*', '?']) || (at < closed && works(one, &['[']));
        self.0.iter().enumerate().position(|(at, one)| begins(at, one))
    }

    /// What it is without quotes, if nothing in it works as a pattern.
    pub(crate) fn literal(&self) -> Option<String> {
        self.glob_at().is_none().then(|| self.string())
    }
}

/// One word of a command.
#[derive(Debug, Clone, Default)]
pub(crate) struct Arg {
    /// As it is written.
    pub(crate) raw: String,
    /// What it becomes: several with braces in it, which all are there, or with a variable, which is one of them.
    pub(crate) texts: Vec<Text>,
    /// What it becomes is not known, or not wholly.
    pub(crate) dynamic: bool,
    /// It is one of `texts`, not all of them.
    pub(crate) choice: bool,
    /// Whatever it becomes, it stays one word.
    pub(crate) one: bool,
    /// A variable stands in it.
    pub(crate) variable: bool,
    /// It begins with a character of its own that is known. Empty if it may begin with anything.
    pub(crate) start: String,
}

impl Arg {
    /// A word that needs no quotes or has none left.
    pub(crate) fn plain(text: &str) -> Self {
        let texts = vec![Text::new(text, Kind::Quoted)];
        Self { raw: text.to_owned(), texts, one: true, start: text.to_owned(), ..Self::default() }
    }

    /// Everything that begins so.
    pub(crate) fn beginning(text: &str) -> Self {
        let mut begins = Text::new(text, Kind::Quoted);
        begins.push_str("*", Kind::Expanded);
        Self { raw: format!("{text}*"), texts: vec![begins], start: text.to_owned(), ..Self::default() }
    }

    /// What it certainly is. Patterns are none.
    pub(crate) fn literal(&self) -> Option<String> {
        match self.texts.as_slice() {
            [text] if !self.dynamic => text.literal(),
            _ => None,
        }
    }

    /// The same, also of patterns: they stand for themselves where nothing matches.
    pub(crate) fn known(&self) -> Option<String> {
        match self.texts.as_slice() {
            [text] if !self.dynamic => Some(text.string()),
            _ => None,
        }
    }

    /// What a person reads: the words that it certainly becomes, or how it is written.
    pub(crate) fn shown(&self) -> Vec<String> {
        let literals = self.texts.iter().map(Text::literal).collect::<Option<Vec<String>>>();
        literals.filter(|_| !self.dynamic && !self.choice).unwrap_or_else(|| vec![self.raw.clone()])
    }

    /// Whether it may be an option: it begins with a dash, or with anything.
    pub(crate) fn may_be_option(&self) -> bool {
        if self.dynamic {
            return self.start.is_empty() || self.start.starts_with('-');
        }
        self.texts.iter().any(|text| matches!(text.0.first(), Some(('-', _))))
    }
}
