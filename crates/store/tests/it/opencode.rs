//! OpenCode's database and folders, made from their schema, with rows that nobody should trust.

use std::path::Path;

use haft_store::Opencode;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    CREATE TABLE project (id text PRIMARY KEY, worktree text, vcs text, name text, icon_url text, icon_url_override text,
        icon_color text, time_created integer, time_updated integer, time_initialized integer, sandboxes text, commands text);
    CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL REFERENCES project(id) ON DELETE CASCADE,
        workspace_id text, parent_id text, slug text, directory text, path text, title text, version text, share_url text,
        summary_additions integer, summary_deletions integer, summary_files integer, summary_diffs text, metadata text,
        cost real, tokens_input integer, tokens_output integer, tokens_reasoning integer, tokens_cache_read integer,
        tokens_cache_write integer, revert text, permission text, agent text, model text, time_created integer,
        time_updated integer, time_compacting integer, time_archived integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
        time_created integer, time_updated integer, data text NOT NULL);
    CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE,
        session_id text NOT NULL, time_created integer, time_updated integer, data text NOT NULL);
    CREATE TABLE todo (session_id text, content text, status text, priority text, position integer,
        time_created integer, time_updated integer);
    INSERT INTO project (id, worktree) VALUES ('p', '/p');
    INSERT INTO session (id, project_id, slug, directory, path, title, version, share_url, summary_additions,
        summary_deletions, summary_files, summary_diffs, metadata, cost, tokens_input, tokens_output, tokens_reasoning,
        tokens_cache_read, tokens_cache_write, revert, permission, agent, model, time_created, time_updated, time_archived)
    VALUES ('ses_parent', 'p', 'gentle-rocket', '/p', '', 'Mend it', '1.18.33', 'https://example.org/s/1', 1, 2, 3, '[]',
        '{\"kept\":1}', 0.25, 10, 20, 30, 40, 50, '{\"messageID\":\"msg_1\"}',
        '[{\"permission\":\"bash\",\"pattern\":\"*\",\"action\":\"deny\"}]', 'build',
        '{\"id\":\"m1\",\"providerID\":\"mock\",\"variant\":\"default\"}', 1, 2, 4);
    INSERT INTO session (id, project_id, parent_id, directory, title, time_created, time_updated)
    VALUES ('ses_child', 'p', 'ses_parent', '/p', 'Child', 5, 6);
    INSERT INTO message VALUES ('msg_2', 'ses_parent', 2, 2, '{\"role\":\"assistant\",\"time\":{\"created\":2}}');
    INSERT INTO message VALUES ('msg_1', 'ses_parent', 1, 1, '{\"role\":\"user\",\"time\":{\"created\":1}}');
    INSERT INTO part VALUES ('prt_2', 'msg_1', 'ses_parent', 1, 1, '{\"type\":\"text\",\"text\":\"two\"}');
    INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_parent', 1, 1, '{\"type\":\"text\",\"text\":\"one\"}');
    INSERT INTO todo VALUES ('ses_parent', 'second', 'pending', 'low', 1, 1, 1), ('ses_parent', 'first', 'completed', 'high', 0, 1, 1);
";

/// What nobody should trust: ids that are paths, JSON that is none, bytes, numbers where words belong.
const HOSTILE: &str = "
    INSERT INTO session (id, project_id, title, time_created, time_updated) VALUES ('ses_/../../etc', 'p', 'x', 1, 1);
    INSERT INTO session (id, project_id, title, time_created, time_updated) VALUES (x'00ff', 'p', 'x', 1, 1);
    INSERT INTO session (id, project_id, title, metadata, model, revert, cost, time_created, time_updated)
    VALUES ('ses_odd', 'p', x'fffe', '{broken', '[[[', 'null', 'free', -7, 'soon');
    INSERT INTO message VALUES ('msg_odd', 'ses_odd', 1, 1, '{broken');
    INSERT INTO message VALUES ('msg_list', 'ses_odd', 2, 2, '[1,2]');
    INSERT INTO part VALUES ('prt_odd', 'msg_odd', 'ses_odd', 1, 1, x'ff');
    ALTER TABLE session ADD COLUMN \"); DROP TABLE session; --\" text;
";

async fn database(folder: &Path, sql: &'static str) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.join("opencode.db")).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection
}

#[tokio::test]
async fn sessions_come_in_the_form_of_exports_while_opencode_runs() {
    let folder = tempfile::tempdir().unwrap();
    let _runs = database(folder.path(), SCHEMA).await;
    let mut opencode = Opencode::open(folder.path()).await.unwrap().unwrap();
    let listed = opencode.sessions().await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|listed| haft_protocol::Id::as_str(&listed.id)).collect();
    assert_eq!(ids, ["ses_parent", "ses_child"]);
    assert_eq!(listed[1].info["parentID"], "ses_parent");
    let whole = opencode.session(&listed[0]).await.unwrap();
    let want = json!({
        "id": "ses_parent", "slug": "gentle-rocket", "projectID": "p", "directory": "/p", "path": "", "title": "Mend it",
        "version": "1.18.33", "agent": "build", "cost": 0.25, "metadata": {"kept": 1},
        "revert": {"messageID": "msg_1"}, "permission": [{"permission": "bash", "pattern": "*", "action": "deny"}],
        "model": {"id": "m1", "providerID": "mock", "variant": "default"}, "share": {"url": "https://example.org/s/1"},
        "summary": {"additions": 1, "deletions": 2, "files": 3, "diffs": []},
        "tokens": {"input": 10, "output": 20, "reasoning": 30, "cache": {"read": 40, "write": 50}},
        "time": {"created": 1, "updated": 2, "archived": 4}
    });
    assert_eq!(whole["info"], want);
    let texts: Vec<&Value> =
        whole["messages"][0]["parts"].as_array().unwrap().iter().map(|part| &part["text"]).collect();
    assert_eq!(texts, ["one", "two"]);
    assert_eq!(whole["messages"][0]["parts"][0]["messageID"], "msg_1");
    assert_eq!(whole["messages"][1]["info"]["id"], "msg_2");
    assert_eq!(whole["todos"][0], json!({"content": "first", "status": "completed", "priority": "high"}));
    opencode.close().await;
}

#[tokio::test]
async fn hostile_rows_harm_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = database(folder.path(), SCHEMA).await;
    sqlx::raw_sql(HOSTILE).execute(&mut connection).await.unwrap();
    let mut opencode = Opencode::open(folder.path()).await.unwrap().unwrap();
    let listed = opencode.sessions().await.unwrap();
    let mut ids: Vec<&str> = listed.iter().map(|listed| haft_protocol::Id::as_str(&listed.id)).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["ses_child", "ses_odd", "ses_parent"]);
    let odd = listed.iter().find(|listed| haft_protocol::Id::as_str(&listed.id) == "ses_odd").unwrap();
    let whole = opencode.session(odd).await.unwrap();
    assert_eq!(whole["info"]["time"], json!({"created": 0}));
    assert_eq!(whole["messages"].as_array().unwrap().len(), 2, "{whole}");
    opencode.close().await;
    assert!(sqlx::query("SELECT 1 FROM session").fetch_optional(&mut connection).await.unwrap().is_some());
    connection.close().await.unwrap();

    // No database at all, and one without tables.
    let folder = tempfile::tempdir().unwrap();
    assert!(Opencode::open(folder.path()).await.unwrap().is_none());
    database(folder.path(), "CREATE TABLE other (x)").await.close().await.unwrap();
    let mut opencode = Opencode::open(folder.path()).await.unwrap().unwrap();
    assert_eq!(opencode.sessions().await.unwrap(), []);
    opencode.close().await;
    std::fs::write(folder.path().join("opencode.db"), "no database".repeat(1000)).unwrap();
    let refused = match Opencode::open(folder.path()).await {
        Ok(opencode) => opencode.unwrap().sessions().await.map(drop),
        Err(error) => Err(error),
    };
    refused.unwrap_err();
}
