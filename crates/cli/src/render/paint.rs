//! Colours, where they are wanted. Pure.

/// Which colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Palette {
    /// The terminal's own first eight, whatever its background is.
    Own,
    /// Bright ones.
    Dark,
    /// Deep ones.
    Light,
}

/// Paints text for a terminal, or leaves it as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    palette: Option<Palette>,
}

impl Paint {
    /// Paints if `terminal` is one and nothing in the environment speaks against it.
    pub(crate) fn new(terminal: bool) -> Self {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { palette: (terminal && !unwanted && !dumb).then_some(Palette::Own) }
    }

    /// Paints with `palette`, whatever the environment says.
    pub(crate) fn with_palette(palette: Palette) -> Self {
        Self { palette: Some(palette) }
    }

    /// Leaves everything as it is.
    pub(crate) const OFF: Self = Self { palette: None };

    /// Paints whatever the environment says.
    #[cfg(test)]
    pub(crate) const ON: Self = Self { palette: Some(Palette::Own) };

    /// Whether it paints.
    pub(crate) fn is_on(self) -> bool {
        self.palette.is_some()
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn coloured(self, colour: u8, text: &str) -> String {
        self.with(&self.colour(colour), text)
    }

    /// The code of the `colour` of the terminal's palette that is meant, 0 to 15.
    pub(super) fn colour(self, colour: u8) -> String {
        let plain = match colour {
            0..8 => (30 + u16::from(colour)).to_string(),
            _ => (90 + u16::from(colour.min(15)) - 8).to_string(),
        };
        // Black, white and the greys suit no background better than another.
        match (self.palette, colour % 8) {
            (Some(Palette::Own) | None, _) | (_, 0 | 7) => plain,
            (Some(Palette::Dark), hue) => (90 + u16::from(hue)).to_string(),
            // Yellow and cyan are not read on white.
            (Some(Palette::Light), 3) => "35".to_owned(),
            (Some(Palette::Light), 6) => "34".to_owned(),
            (Some(Palette::Light), hue) => (30 + u16::from(hue)).to_string(),
        }
    }

    /// The code for what stands back.
    pub(super) fn faint(self) -> &'static str {
        match self.palette {
            Some(Palette::Own) | None => "2",
            Some(Palette::Dark) => "37",
            Some(Palette::Light) => "90",
        }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with(self.faint(), text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.coloured(1, text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.coloured(2, text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.coloured(3, text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.coloured(6, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_palette_says_which_code_a_colour_has() {
        let row = |palette, want: [&str; 3]| {
            let paint = Paint::with_palette(palette);
            let got = [paint.dim("x"), paint.yellow("x"), paint.cyan("x")];
            assert_eq!(got, want.map(|code| format!("\u{1b}[{code}mx\u{1b}[0m")), "{palette:?}");
        };
        row(Palette::Own, ["2", "33", "36"]);
        row(Palette::Dark, ["37", "93", "96"]);
        row(Palette::Light, ["90", "35", "34"]);
        assert_eq!(Paint::OFF.yellow("x"), "x");
        // Bright ones of the palette itself stay what they are, and grey stays grey.
        assert_eq!(Paint::ON.colour(11), "93");
        assert_eq!(Paint::with_palette(Palette::Light).colour(8), "90");
    }
}
