//! Whether a file is still what the session saw of it, and remembering what it sees.

use haft_project::{Stamp, Target};
use haft_tool::{Call, ToolError};

/// Remembers that the session has seen the file as `stamp` says.
pub(crate) fn saw(call: &Call, target: &Target, stamp: Stamp) {
    call.marks().saw(target.path(), &call.message, mark(stamp));
}

/// Makes sure that the file, which is as `now` says, has not changed since the session read or wrote it. A file that it
/// never saw passes.
///
/// # Errors
///
/// [`ToolError::Failed`] that says what to do.
pub(crate) fn unchanged(call: &Call, target: &Target, now: Stamp) -> Result<(), ToolError> {
    match call.marks().seen(target.path()) {
        Some(seen) if seen.differs(&mark(now)) => {
            let path = target.path().display();
            Err(ToolError::Failed(format!(
                "{path} has changed on disk since you last read or wrote it, so nothing was done. Read it again, then \
                 repeat the change against what it holds now."
            )))
        }
        Some(_) | None => Ok(()),
    }
}

fn mark(stamp: Stamp) -> haft_tool::Stamp {
    let Stamp { size, modified, inode, content } = stamp;
    haft_tool::Stamp { size, modified, inode, content }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use haft_tool::fake::FakeHost;
    use serde_json::{Value, json};

    use crate::scene::Scene;

    fn read(path: &str) -> Value {
        json!({ "filePath": path })
    }

    fn write(path: &str, content: &str) -> Value {
        json!({ "filePath": path, "content": content })
    }

    fn edit(path: &str, old: &str, new: &str) -> Value {
        json!({ "filePath": path, "oldString": old, "newString": new })
    }

    const CHANGED: &str = "has changed on disk since you last read or wrote it";

    #[tokio::test]
    async fn a_file_that_changed_since_it_was_read_is_refused_until_it_is_read_again() {
        let scene = Scene::new();
        scene.put("a", "one two");
        scene.run("read", read("a")).await.unwrap();
        scene.put("a", "one TWO");
        scene.fails("edit", edit("a", "one", "1"), CHANGED).await;
        scene.fails("write", write("a", "mine"), "Read it again, then repeat the change").await;
        assert_eq!(scene.get("a"), "one TWO");
        // The one who would be asked sees nothing of it.
        assert!(scene.asked("edit").is_empty());
        scene.run("read", read("a")).await.unwrap();
        scene.run("edit", edit("a", "one", "1")).await.unwrap();
        assert_eq!(scene.get("a"), "1 TWO");
    }

    #[tokio::test]
    async fn a_change_of_the_same_size_at_the_same_time_is_seen() {
        let scene = Scene::new();
        scene.put("a", "one");
        scene.run("read", read("a")).await.unwrap();
        scene.put_keeping_time("a", "two");
        scene.fails("write", write("a", "mine"), CHANGED).await;
    }

    #[tokio::test]
    async fn a_file_that_was_only_touched_has_not_changed() {
        let scene = Scene::new();
        scene.put("a", "one");
        scene.run("read", read("a")).await.unwrap();
        let file = std::fs::File::options().write(true).open(scene.path("a")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(5)).unwrap();
        scene.run("edit", edit("a", "one", "two")).await.unwrap();
        // Nor one that was put in its place with the same content.
        std::fs::remove_file(scene.path("a")).unwrap();
        scene.put("a", "two");
        scene.run("edit", edit("a", "two", "three")).await.unwrap();
    }

    #[tokio::test]
    async fn reading_a_part_counts_and_a_change_anywhere_is_one() {
        let scene = Scene::new();
        let text: String = (0..5000).map(|number| format!("line {number}\n")).collect();
        scene.put("a", &text);
        scene.run("read", json!({"filePath": "a", "limit": 3})).await.unwrap();
        scene.run("edit", edit("a", "line 7\n", "seven\n")).await.unwrap();
        scene.run("read", json!({"filePath": "a", "limit": 3})).await.unwrap();
        scene.put("a", &text.replace("line 4999", "other"));
        scene.fails("edit", edit("a", "line 7\n", "seven\n"), CHANGED).await;
    }

    #[tokio::test]
    async fn a_large_file_is_judged_by_its_size_and_time() {
        let scene = Scene::new();
        let text = "0123456789abcde\n".repeat(80 * 1024);
        scene.put("a", &text);
        scene.run("read", json!({"filePath": "a", "limit": 1})).await.unwrap();
        scene.run("write", write("a", &text)).await.unwrap();
        scene.run("read", json!({"filePath": "a", "limit": 1})).await.unwrap();
        scene.put("a", &format!("{text}more"));
        scene.fails("write", write("a", "mine"), CHANGED).await;
        // Too large to be held against the new one at all.
        let file = std::fs::File::create(scene.path("huge")).unwrap();
        file.set_len(1 << 40).unwrap();
        std::io::Write::write_all(&mut &file, "a line of text\n".repeat(1000).as_bytes()).unwrap();
        scene.run("read", json!({"filePath": "huge", "limit": 1})).await.unwrap();
        file.set_len((1 << 40) + 1).unwrap();
        scene.fails("write", write("huge", "mine"), CHANGED).await;
    }

    #[tokio::test]
    async fn ones_own_changes_are_no_surprise_and_a_file_never_read_passes() {
        let scene = Scene::new();
        scene.put("a", "one");
        scene.run("edit", edit("a", "one", "two")).await.unwrap();
        scene.run("edit", edit("a", "two", "three")).await.unwrap();
        scene.run("write", write("a", "four")).await.unwrap();
        scene.run("edit", edit("a", "four", "five")).await.unwrap();
        scene.put("b", "old");
        scene.run("write", write("b", "new")).await.unwrap();
        // What one wrote and somebody else changed is a surprise.
        scene.put("b", "theirs");
        scene.fails("edit", edit("b", "theirs", "mine"), CHANGED).await;
        // What is gone can be made again.
        std::fs::remove_file(scene.path("b")).unwrap();
        scene.run("write", write("b", "new")).await.unwrap();
    }

    #[tokio::test]
    async fn two_sessions_on_one_file_do_not_undo_each_other() {
        let scene = Scene::new();
        let other = FakeHost::allowing_all(std::path::Path::new(&scene.path("../outputs")));
        scene.put("a", "one two");
        scene.run("read", read("a")).await.unwrap();
        scene.registry.run("read", read("a"), &other.call()).await.unwrap();
        scene.registry.run("edit", edit("a", "one", "1"), &other.call()).await.unwrap();
        scene.fails("write", write("a", "mine"), CHANGED).await;
        scene.fails("edit", edit("a", "two", "2"), CHANGED).await;
        scene.run("read", read("a")).await.unwrap();
        scene.run("edit", edit("a", "two", "2")).await.unwrap();
        assert_eq!(scene.get("a"), "1 2");
    }

    #[tokio::test]
    async fn two_tools_of_two_sessions_at_the_same_time_lose_nothing() {
        let scene = Scene::new();
        let other = FakeHost::allowing_all(std::path::Path::new(&scene.path("../outputs")));
        let names: Vec<String> = (0..10).map(|number| format!("<{number}>")).collect();
        scene.put("a", &names.concat());
        for host in [&scene.bench, &other] {
            scene.registry.run("read", read("a"), &host.call()).await.unwrap();
        }
        let calls: Vec<_> = (0..10).map(|at| if at % 2 == 0 { scene.bench.call() } else { other.call() }).collect();
        let edits = calls
            .iter()
            .zip(&names)
            .map(|(call, name)| scene.registry.run("edit", edit("a", name, &name.replace('<', "[")), call));
        let done = futures::future::join_all(edits).await;
        // Each edit is in the file, or was refused because the other session had changed it.
        let text = scene.get("a");
        for (result, name) in done.iter().zip(&names) {
            let changed = text.contains(&name.replace('<', "["));
            assert_eq!(changed, result.is_ok(), "{name} in {text}: {result:?}");
            assert!(result.as_ref().err().is_none_or(|error| error.to_string().contains(CHANGED)), "{result:?}");
        }
        assert!(done.iter().any(Result::is_ok));
    }
}
