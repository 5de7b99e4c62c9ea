-- The sessions that a session started as tasks, in the order they were made.

CREATE INDEX session_by_parent ON session (parent_id, time_created) WHERE parent_id IS NOT NULL;
