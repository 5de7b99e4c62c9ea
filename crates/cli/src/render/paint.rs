//! Colours, where they are wanted. Pure.

/// Paints text for a terminal, or leaves it as it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paint {
    on: bool,
}

impl Paint {
    /// Paints if `terminal` is one and nothing in the environment speaks against it.
    pub(crate) fn new(terminal: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { on: terminal && !unwanted && !dumb }
    }

    /// Leaves everything as it is.
    pub(crate) const OFF: Self = Self { on: false };

    /// Paints whatever the environment says.
    #[cfg(test)]
    pub(crate) const ON: Self = Self { on: true };

    /// Whether it paints.
    pub(crate) fn is_on(self) -> bool {
        self.on
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.on { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.with("33", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.with("36", text)
    }
}
