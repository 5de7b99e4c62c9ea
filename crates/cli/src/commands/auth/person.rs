//! The person at the terminal, as far as signing in asks them something.

use anyhow::{Result, bail};
use haft_permission::Answerer;

use crate::ask::{self, answerer};
use crate::render::{Page, Paint, errors_are_terminal, size};
use crate::report::Usage;
use crate::signals::Signals;

/// Most options that are shown at once.
const MAX_SHOWN: usize = 15;

/// They do not want to go on.
#[derive(Debug, thiserror::Error)]
#[error("stopped")]
pub(crate) struct Stopped;

/// Whoever is there, or nobody.
pub(crate) struct Person {
    there: bool,
    signals: Signals,
}

/// Something that can be chosen: what stands for it on the command line, and what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choosable {
    pub(super) id: String,
    pub(super) label: String,
}

/// What a line that was typed at a list means.
#[derive(Debug, PartialEq, Eq)]
enum Typed {
    /// This one was chosen.
    Chosen(usize),
    /// Those are meant, and must be asked about.
    Narrowed(Vec<usize>),
    /// Nothing fits.
    Nothing,
}

impl Person {
    /// Looks whether somebody is there.
    pub(crate) fn find() -> Result<Self> {
        Ok(Self { there: answerer(false) == Answerer::Person, signals: Signals::listen()? })
    }

    /// Whether somebody is there to answer.
    pub(super) fn is_there(&self) -> bool {
        self.there
    }

    /// Waits for `future`, or until they stop it.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub(crate) async fn wait<T>(&mut self, future: impl Future<Output = T>) -> Result<T> {
        tokio::select! {
            done = future => Ok(done),
            () = self.signals.next() => bail!(Stopped),
        }
    }

    /// A line that they type at `shown`, without blanks around it.
    ///
    /// # Errors
    ///
    /// [`Stopped`] where they stop it or close the terminal.
    pub(crate) async fn line(&mut self, shown: String) -> Result<String> {
        self.read(&shown).await
    }

    /// The same, and what they type is not shown.
    ///
    /// # Errors
    ///
    /// [`Stopped`], and when the terminal cannot hide it: then nothing is asked.
    pub(super) async fn hidden(&mut self, shown: String) -> Result<String> {
        // Shows it again, whatever ends the waiting.
        let _hidden = ask::Hidden::begin()?;
        let read = self.read(&shown).await;
        // Their own end of the line was hidden with the rest.
        crate::render::complain("");
        read
    }

    async fn read(&mut self, shown: &str) -> Result<String> {
        match self.wait(ask::typed(shown)).await?? {
            Some(line) => Ok(line.trim().to_owned()),
            None => bail!(Stopped),
        }
    }

    /// The one of `options` that they choose by its number, its id, or a part of its name.
    ///
    /// # Errors
    ///
    /// [`Stopped`], also where they choose nothing.
    pub(super) async fn choose(&mut self, question: &str, options: &[Choosable]) -> Result<usize> {
        let mut among: Vec<usize> = (0..options.len()).collect();
        loop {
            let shown = listed(question, options, &among);
            let line = self.line(shown).await?;
            if line.is_empty() {
                bail!(Stopped);
            }
            match understood(&line, options, &among) {
                Typed::Chosen(at) => return Ok(at),
                Typed::Narrowed(fitting) => among = fitting,
                Typed::Nothing => among = (0..options.len()).collect(),
            }
        }
    }

    /// Whether they say yes to what stands on `shown`.
    ///
    /// # Errors
    ///
    /// [`Stopped`].
    pub(crate) async fn agrees(&mut self, shown: String) -> Result<bool> {
        let line = self.line(shown).await?;
        Ok(matches!(line.to_lowercase().as_str(), "y" | "yes"))
    }

    /// Fails where nobody is there to be asked for `what`.
    ///
    /// # Errors
    ///
    /// [`Usage`], which ends in `instead`.
    pub(crate) fn must_be_there(&self, what: &str, instead: &str) -> Result<()> {
        if self.there {
            return Ok(());
        }
        Err(Usage(format!("nobody is there to {what}; {instead}")).into())
    }
}

/// What `line` means at a list of those of `options` that are `among`.
fn understood(line: &str, options: &[Choosable], among: &[usize]) -> Typed {
    let lower = line.to_lowercase();
    let shown = &among[..among.len().min(MAX_SHOWN)];
    if let Ok(number) = line.parse::<usize>() {
        return match number.checked_sub(1).and_then(|at| shown.get(at)) {
            Some(at) => Typed::Chosen(*at),
            None => Typed::Nothing,
        };
    }
    if let Some(at) = options.iter().position(|option| option.id.to_lowercase() == lower) {
        return Typed::Chosen(at);
    }
    let fits = |at: &usize| {
        let Choosable { id, label } = &options[*at];
        id.to_lowercase().contains(&lower) || label.to_lowercase().contains(&lower)
    };
    let mut fitting: Vec<usize> = (0..options.len()).filter(fits).collect();
    // What begins with it is more likely meant.
    let begins = |at: &usize| {
        let Choosable { id, label } = &options[*at];
        !(id.to_lowercase().starts_with(&lower) || label.to_lowercase().starts_with(&lower))
    };
    fitting.sort_by_key(begins);
    match fitting[..] {
        [] => Typed::Nothing,
        [one] => Typed::Chosen(one),
        _ => Typed::Narrowed(fitting),
    }
}

/// The question, those of `options` that are `among`, and what can be typed.
fn listed(question: &str, options: &[Choosable], among: &[usize]) -> String {
    let paint = Paint::new(errors_are_terminal());
    let mut page = Page::new(size().columns);
    page.put("? ", question, |line| paint.yellow(line));
    for (at, option) in among.iter().take(MAX_SHOWN).map(|at| &options[*at]).enumerate() {
        page.put(&format!("  {:>2}  ", at + 1), &option.label, str::to_owned);
    }
    let more = match among.len().saturating_sub(MAX_SHOWN) {
        0 => String::new(),
        more => format!("  … and {more} more\n"),
    };
    format!("\n{}{more}  a number, or a part of the name: ", page.end())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Vec<Choosable> {
        let all = [
            ("anthropic", "Anthropic"),
            ("azure", "Azure"),
            ("openai", "OpenAI"),
            ("openrouter", "OpenRouter"),
            ("xai", "xAI"),
        ];
        all.iter().map(|(id, label)| Choosable { id: (*id).to_owned(), label: (*label).to_owned() }).collect()
    }

    #[test]
    fn one_is_chosen_by_its_number_or_a_part_of_its_name() {
        let options = options();
        let all: Vec<usize> = (0..options.len()).collect();
        let row = |line: &str, want: Typed| assert_eq!(understood(line, &options, &all), want, "{line}");
        row("2", Typed::Chosen(1));
        row("Azure", Typed::Chosen(1));
        row("xai", Typed::Chosen(4));
        row("OPENAI", Typed::Chosen(2));
        row("anth", Typed::Chosen(0));
        row("open", Typed::Narrowed(vec![2, 3]));
        // Those that begin with it come first.
        row("a", Typed::Narrowed(vec![0, 1, 2, 4]));
        row("zzz", Typed::Nothing);
        row("0", Typed::Nothing);
        row("6", Typed::Nothing);
        assert_eq!(understood("2", &options, &[2, 3]), Typed::Chosen(3), "numbers are those that are shown");
    }

    #[test]
    fn a_long_list_is_cut() {
        let many: Vec<_> = (0..40).map(|n| Choosable { id: format!("v{n}"), label: format!("Vendor {n}") }).collect();
        let all: Vec<usize> = (0..many.len()).collect();
        let shown = listed("Which?", &many, &all);
        assert!(shown.contains("15  Vendor 14\n  … and 25 more\n") && !shown.contains("Vendor 15"), "{shown}");
        assert_eq!(understood("16", &many, &all), Typed::Nothing, "what is not shown has no number");
    }
}
