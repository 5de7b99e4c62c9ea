//! What clients are told of a tool's nature. Pure.

use rmcp::model::ToolAnnotations;

/// What a tool may do that asks under `permission`: hints for a client that decides what to show its person. What holds
/// is the gate.
pub fn hints(permission: &str) -> ToolAnnotations {
    let hints = ToolAnnotations::new();
    match permission {
        "read" | "glob" | "grep" | "list" | "lsp" | "skill" | "question" | "tool_search" => {
            hints.read_only(true).open_world(false)
        }
        "webfetch" | "websearch" | "codesearch" => hints.read_only(true).open_world(true),
        // The list of things to do is the session's own.
        "todowrite" | "todoread" => hints.read_only(false).destructive(false).idempotent(true).open_world(false),
        "edit" => hints.read_only(false).destructive(true).open_world(false),
        // Commands, and whatever nobody here knows.
        _ => hints.read_only(false).destructive(true).open_world(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_may_do_anything() {
        let row = |permission: &str, read_only: bool, destructive: Option<bool>, open: bool| {
            let told = hints(permission);
            let got = (told.read_only_hint, told.destructive_hint, told.open_world_hint);
            assert_eq!(got, (Some(read_only), destructive, Some(open)), "{permission}");
        };
        row("read", true, None, false);
        row("webfetch", true, None, true);
        row("edit", false, Some(true), false);
        row("todowrite", false, Some(false), false);
        row("bash", false, Some(true), true);
        row("somebodys_tool", false, Some(true), true);
    }
}
