//! What is said of functions that are not there.

/// What there is, for people and plug-ins that look for something else.
const THERE: &str = "app.agents, app.log, auth.set, command.list, config.get, config.providers, file.read, find.files, \
                     find.text, mcp.status, path.get, project.current, provider.list, session.abort, session.children, \
                     session.command, session.create, session.delete, session.diff, session.get, session.list, \
                     session.message, session.messages, session.prompt, session.promptAsync, session.status, \
                     session.summarize, session.todo, session.update, tool.ids, tool.list, tui.showToast, vcs.get";

/// Why there is no function called `path`, and what there is instead.
pub(super) fn why(path: &str) -> String {
    let (group, name) = path.split_once('.').unwrap_or((path, ""));
    let instead = match (group, name) {
        ("permission" | "question", _) => {
            Some("a plug-in answers no question for a person; the hook permission.ask hears of it")
        }
        _ if path.to_lowercase().contains("permission") => {
            Some("a plug-in answers no question for a person; the hook permission.ask hears of it")
        }
        ("event" | "global", _) => Some("the hook event is told everything that happens"),
        ("tui", _) => Some("there is no screen that could be driven; tui.showToast says something"),
        ("session", "shell") => Some("use $, which asks for what it runs"),
        ("session", "revert" | "unrevert") => Some("only a person takes back what was done"),
        ("session", "share" | "unshare") => Some("nothing is sent anywhere"),
        ("config" | "auth" | "mcp" | "instance", _) => {
            Some("settings are the user's own; the hook config may add to them")
        }
        _ => None,
    };
    match instead {
        Some(instead) => format!("client.{path} is not there in haft: {instead}. There are {THERE}"),
        None => format!("client.{path} is not there in haft; there are {THERE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_for_something_else_is_told_what_there_is() {
        let row = |path: &str, want: &str| {
            let why = why(path);
            assert!(why.starts_with(&format!("client.{path} is not there in haft")) && why.contains(want), "{why}");
            assert!(why.contains("session.promptAsync"), "{why}");
        };
        row("permission.reply", "for a person");
        row("postSessionIdPermissionsPermissionId", "for a person");
        row("question.reply", "for a person");
        row("event.subscribe", "the hook event");
        row("tui.appendPrompt", "no screen");
        row("session.shell", "use $");
        row("config.update", "the user's own");
        row("session.fork", "; there are");
    }
}
