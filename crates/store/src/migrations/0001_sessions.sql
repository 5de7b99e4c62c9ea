-- Sessions, their messages, their parts. `data` is the record as protocol spells it; the other columns are what is
-- searched and sorted by. `seq` is the order in which rows came: ids and times of other machines need not sort.

CREATE TABLE session (
    id           TEXT    NOT NULL PRIMARY KEY,
    parent_id    TEXT,
    directory    TEXT    NOT NULL,
    time_created INTEGER NOT NULL,
    time_updated INTEGER NOT NULL,
    data         TEXT    NOT NULL
) STRICT;

CREATE INDEX session_by_time ON session (time_updated);
CREATE INDEX session_by_directory ON session (directory, time_updated);

CREATE TABLE message (
    session_id   TEXT    NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    id           TEXT    NOT NULL,
    seq          INTEGER NOT NULL, -- counts the messages of one session
    time_created INTEGER NOT NULL,
    data         TEXT    NOT NULL,
    PRIMARY KEY (session_id, id),
    UNIQUE (session_id, seq)
) STRICT;

CREATE TABLE part (
    session_id   TEXT    NOT NULL,
    message_id   TEXT    NOT NULL,
    id           TEXT    NOT NULL,
    seq          INTEGER NOT NULL, -- counts the parts of one message
    time_created INTEGER NOT NULL,
    data         TEXT    NOT NULL,
    PRIMARY KEY (session_id, id),
    UNIQUE (session_id, message_id, seq),
    FOREIGN KEY (session_id, message_id) REFERENCES message (session_id, id) ON DELETE CASCADE
) STRICT;
