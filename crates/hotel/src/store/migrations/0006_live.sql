-- How often the tasks and the inbox have changed. On SQLite every process reads here what the others did; PostgreSQL
-- notifies instead.
CREATE TABLE change_count (
    topic TEXT PRIMARY KEY,
    number BIGINT NOT NULL
);
INSERT INTO change_count (topic, number) VALUES ('tasks', 0);
INSERT INTO change_count (topic, number) VALUES ('inbox', 0);
