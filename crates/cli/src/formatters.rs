//! What is done with files after a tool wrote them: formatters of the settings, and who hears of the change.

use std::sync::Arc;

use haft_config::FormatterConfig;
use haft_protocol::hook::Point;
use haft_toolbox::format::Wish;
use haft_toolbox::{AfterEdit, Formatters};

use crate::render;
use crate::wire::Ground;

/// The formatters that the settings of `ground` want. What is wrong with them is said.
pub(crate) fn of(ground: &Ground) -> Formatters {
    let haft_config::Formatters::On(wanted) = &ground.config.formatters else { return Formatters::default() };
    let wishes = wanted.iter().map(wish).collect();
    let (formatters, problems) = Formatters::new(wishes, ground.config.trusted, ground.config.flags.oxfmt);
    for problem in problems {
        render::complain(&format!("warning: {problem}"));
    }
    formatters
}

/// The same with who hears of files.
pub(crate) fn after_edit(ground: &Ground) -> AfterEdit {
    let (hooks, heard) = (ground.hooks().clone(), ground.heard.clone());
    let tell = hooks.listen(Point::Event).then(|| -> haft_toolbox::format::Tell {
        // Without a listener nobody wants it.
        Arc::new(move |event| drop(heard.send(event)))
    });
    AfterEdit { formatters: ground.formatters().clone(), tell }
}

fn wish(config: &FormatterConfig) -> Wish {
    let FormatterConfig { name, disabled, command, environment, extensions } = config.clone();
    Wish { name, disabled, command, environment, extensions }
}
