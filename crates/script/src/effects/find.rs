//! What a plug-in's `client.find` looks for: lines and names, with the leave of the tools `grep` and `glob`.

use haft_permission::{Access, Effect};
use haft_project::{Find, Grep, LinePattern, Order, Role, Want};
use haft_tool::TellModel;
use serde::Deserialize;
use serde_json::{Value, json};

use super::CallWorld;
use crate::error::Refusal;

/// Most lines, or names, of one answer.
const MAX_FOUND: usize = 100;
/// Most files whose names are looked at.
const MAX_NAMES: usize = 50_000;

#[derive(Deserialize)]
pub(super) struct FindText {
    pattern: String,
}

#[derive(Deserialize)]
pub(super) struct FindFiles {
    query: String,
    limit: Option<usize>,
}

impl CallWorld<'_> {
    pub(super) async fn find_text(&self, FindText { pattern }: FindText) -> Result<Value, Refusal> {
        let top = self.reach("").await?;
        let access = Access::new("grep", pattern.as_str()).with(Effect::Read(top.path().to_owned()));
        let grant = self.granted(access.show("pattern", pattern.as_str())).await?;
        let may_read = self.call.allowing("read");
        let want = Want::Lines { context: 0 };
        let pattern = LinePattern::new(&pattern).tell_model().map_err(|error| self.refuse(error))?;
        let grep = Grep { pattern, names: None, may_read, want, max: MAX_FOUND };
        let found = self.doors.files.grep(&grant, &top, grep).await.tell_model().map_err(|error| self.refuse(error))?;
        let lines = found.files.iter().flat_map(|file| {
            let path = file.path.strip_prefix(top.path()).unwrap_or(&file.path).display().to_string();
            file.lines.iter().filter(|line| line.role == Role::Match).map(move |line| {
                json!({
                    "path": { "text": path }, "lines": { "text": line.text }, "line_number": line.number,
                    "absolute_offset": 0, "submatches": [],
                })
            })
        });
        Ok(lines.take(MAX_FOUND).collect())
    }

    pub(super) async fn find_files(&self, FindFiles { query, limit }: FindFiles) -> Result<Value, Refusal> {
        let top = self.reach("").await?;
        let access = Access::new("glob", query.as_str()).with(Effect::Read(top.path().to_owned()));
        let grant = self.granted(access.show("pattern", query.as_str())).await?;
        let find = Find { names: None, left_out: Vec::new(), order: Order::Shallowest, max: MAX_NAMES };
        let found = self.doors.files.find(&grant, &top, find).await.tell_model().map_err(|error| self.refuse(error))?;
        let wanted = query.to_lowercase();
        let names = found.paths.iter().map(|path| path.strip_prefix(top.path()).unwrap_or(path).display().to_string());
        let names = names.filter(|name| name.to_lowercase().contains(&wanted));
        Ok(names.take(limit.unwrap_or(MAX_FOUND).min(MAX_FOUND)).collect())
    }
}
