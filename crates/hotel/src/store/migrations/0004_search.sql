-- What can be found, and by which words. The index itself is each database's own: see the files beside this one.

-- What was there before the index: the rest of it that is still to be indexed.
CREATE TABLE search_backlog (
    document_id BIGINT PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('MAIL', 'ORDER', 'TASK'))
);
INSERT INTO search_backlog (document_id, kind) SELECT inbox_id, 'MAIL' FROM platform_source_message_inbox;
INSERT INTO search_backlog (document_id, kind) SELECT order_id, 'ORDER' FROM hotel_order;
INSERT INTO search_backlog (document_id, kind) SELECT task_id, 'TASK' FROM task;

-- The list of orders.
CREATE INDEX order_newest ON hotel_order (hotel_id, created_at, order_id);
CREATE INDEX order_arrival ON hotel_order (hotel_id, arrival);
