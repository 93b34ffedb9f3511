-- One text for SQLite and PostgreSQL. Ids are taken from id_block, times are unix milliseconds (UTC),
-- lists and objects are JSON text. The names of the platform_* tables are the contract's.

CREATE TABLE id_block (
    name TEXT PRIMARY KEY,
    next_id BIGINT NOT NULL
);
INSERT INTO id_block (name, next_id) VALUES ('main', 1001);

CREATE TABLE platform_hotel (
    hotel_id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'INACTIVE')),
    created_at BIGINT NOT NULL
);

CREATE TABLE api_token (
    token_id BIGINT PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);
-- A name can be used again once its token is revoked.
CREATE UNIQUE INDEX api_token_live_name ON api_token (name) WHERE revoked_at IS NULL;

CREATE TABLE conversation (
    conversation_id BIGINT PRIMARY KEY,
    hotel_id BIGINT NOT NULL REFERENCES platform_hotel (hotel_id),
    provider TEXT NOT NULL,
    channel TEXT NOT NULL,
    external_conversation_id TEXT NOT NULL
);

-- What leads to a conversation: its external ids (merged ones stay) and the message ids it is joined by.
CREATE TABLE conversation_key (
    hotel_id BIGINT NOT NULL,
    provider TEXT NOT NULL,
    channel TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('CONVERSATION', 'MESSAGE')),
    external_id TEXT NOT NULL,
    conversation_id BIGINT NOT NULL REFERENCES conversation (conversation_id),
    PRIMARY KEY (hotel_id, kind, external_id, provider, channel)
);
CREATE INDEX conversation_key_conversation ON conversation_key (conversation_id);

CREATE TABLE platform_source_message_inbox (
    inbox_id BIGINT PRIMARY KEY,
    hotel_id BIGINT NOT NULL REFERENCES platform_hotel (hotel_id),
    provider TEXT NOT NULL,
    channel TEXT NOT NULL,
    external_message_id TEXT NOT NULL,
    -- The id without the suffix that tells two different mails under one Message-ID apart.
    bare_message_id TEXT NOT NULL,
    conversation_id BIGINT NOT NULL REFERENCES conversation (conversation_id),
    subject TEXT NOT NULL,
    sender TEXT,
    agency TEXT,
    recipients TEXT NOT NULL,
    cc TEXT NOT NULL,
    in_reply_to TEXT NOT NULL,
    reference_ids TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    text_body TEXT NOT NULL,
    html_body TEXT,
    html_render_mode TEXT NOT NULL,
    html_degraded_reason TEXT,
    attachments TEXT NOT NULL,
    warnings TEXT NOT NULL,
    content_sha256 TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX inbox_identity
    ON platform_source_message_inbox (hotel_id, external_message_id, provider, channel);
CREATE INDEX inbox_bare_id ON platform_source_message_inbox (hotel_id, bare_message_id);
CREATE INDEX inbox_conversation ON platform_source_message_inbox (conversation_id, received_at);
CREATE INDEX inbox_received ON platform_source_message_inbox (hotel_id, received_at, inbox_id);

CREATE TABLE source_message_raw (
    inbox_id BIGINT PRIMARY KEY REFERENCES platform_source_message_inbox (inbox_id),
    raw BYTEA NOT NULL
);

-- One row for each body that left the house (contract section 6.3).
CREATE TABLE source_message_access (
    access_id BIGINT PRIMARY KEY,
    inbox_id BIGINT NOT NULL REFERENCES platform_source_message_inbox (inbox_id),
    at BIGINT NOT NULL,
    reader TEXT NOT NULL,
    request_id TEXT NOT NULL
);
CREATE INDEX source_message_access_inbox ON source_message_access (inbox_id);

CREATE TABLE ai_batch (
    batch_id BIGINT PRIMARY KEY,
    hotel_id BIGINT NOT NULL REFERENCES platform_hotel (hotel_id),
    inbox_id BIGINT NOT NULL REFERENCES platform_source_message_inbox (inbox_id),
    status TEXT NOT NULL CHECK (status IN ('ACTIVE', 'SUPERSEDED')),
    shape TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    payload TEXT NOT NULL,
    submitted_by TEXT NOT NULL,
    created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX ai_batch_one_active ON ai_batch (inbox_id) WHERE status = 'ACTIVE';
-- One payload of a message is one batch for ever, whatever came after it.
CREATE UNIQUE INDEX ai_batch_payload ON ai_batch (inbox_id, payload_digest);

CREATE TABLE hotel_order (
    order_id BIGINT PRIMARY KEY,
    hotel_id BIGINT NOT NULL REFERENCES platform_hotel (hotel_id),
    object_type TEXT NOT NULL CHECK (object_type IN ('FIT', 'GROUP')),
    group_code TEXT,
    confirmation_number TEXT,
    reservation_no TEXT,
    status TEXT NOT NULL,
    status_source TEXT NOT NULL CHECK (status_source IN ('LOCAL', 'OPERA_PROJECTION')),
    arrival TEXT,
    departure TEXT,
    fields TEXT NOT NULL,
    version BIGINT NOT NULL,
    created_inbox_id BIGINT REFERENCES platform_source_message_inbox (inbox_id),
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX order_group_code ON hotel_order (hotel_id, group_code) WHERE group_code IS NOT NULL;
CREATE INDEX order_confirmation ON hotel_order (hotel_id, confirmation_number) WHERE confirmation_number IS NOT NULL;
CREATE INDEX order_reservation ON hotel_order (hotel_id, reservation_no) WHERE reservation_no IS NOT NULL;

CREATE TABLE order_change (
    order_id BIGINT NOT NULL REFERENCES hotel_order (order_id),
    version BIGINT NOT NULL,
    task_id BIGINT,
    actor TEXT NOT NULL,
    at BIGINT NOT NULL,
    changes TEXT NOT NULL,
    PRIMARY KEY (order_id, version)
);

CREATE TABLE task (
    task_id BIGINT PRIMARY KEY,
    hotel_id BIGINT NOT NULL REFERENCES platform_hotel (hotel_id),
    order_id BIGINT REFERENCES hotel_order (order_id),
    inbox_id BIGINT NOT NULL REFERENCES platform_source_message_inbox (inbox_id),
    batch_id BIGINT NOT NULL REFERENCES ai_batch (batch_id),
    source_event_index TEXT NOT NULL,
    catalog_code TEXT NOT NULL,
    system_task_type TEXT NOT NULL,
    creates_order BOOLEAN NOT NULL,
    status TEXT NOT NULL,
    version BIGINT NOT NULL,
    priority TEXT NOT NULL,
    due_at BIGINT,
    assignee TEXT,
    agency TEXT,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE INDEX task_order ON task (order_id) WHERE order_id IS NOT NULL;
CREATE INDEX task_inbox ON task (inbox_id, created_at, task_id);
CREATE INDEX task_batch ON task (batch_id);
CREATE INDEX task_board ON task (hotel_id, status, created_at);

CREATE TABLE task_card (
    task_id BIGINT PRIMARY KEY REFERENCES task (task_id),
    summary TEXT,
    proposed_changes TEXT NOT NULL,
    evidence TEXT NOT NULL,
    warnings TEXT NOT NULL,
    manual_review TEXT,
    details TEXT
);

CREATE TABLE task_move (
    task_id BIGINT NOT NULL REFERENCES task (task_id),
    version BIGINT NOT NULL,
    from_status TEXT,
    to_status TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    at BIGINT NOT NULL,
    order_version BIGINT,
    PRIMARY KEY (task_id, version)
);

CREATE TABLE ai_transition (
    ai_transition_id BIGINT PRIMARY KEY,
    batch_id BIGINT NOT NULL REFERENCES ai_batch (batch_id),
    position BIGINT NOT NULL,
    source_event_index TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('ACCEPTED', 'CONTRACT_ERROR', 'SUPERSEDED')),
    event_type TEXT,
    catalog_code TEXT,
    error_code TEXT,
    error_message TEXT,
    order_id BIGINT REFERENCES hotel_order (order_id),
    task_id BIGINT REFERENCES task (task_id)
);
CREATE UNIQUE INDEX ai_transition_position ON ai_transition (batch_id, position);

-- position is given by the sealer; a row without one is committed but not sealed yet.
CREATE TABLE audit_event (
    audit_id BIGINT PRIMARY KEY,
    at BIGINT NOT NULL,
    request_id TEXT NOT NULL,
    trace_id TEXT,
    caller TEXT NOT NULL,
    channel TEXT NOT NULL,
    operation TEXT NOT NULL,
    effect TEXT NOT NULL,
    outcome TEXT NOT NULL,
    code TEXT,
    target TEXT,
    content_sha256 TEXT,
    duration_us BIGINT NOT NULL,
    digest TEXT NOT NULL,
    position BIGINT
);
CREATE UNIQUE INDEX audit_event_position ON audit_event (position) WHERE position IS NOT NULL;
CREATE INDEX audit_event_unsealed ON audit_event (audit_id) WHERE position IS NULL;
CREATE INDEX audit_event_at ON audit_event (at);

CREATE TABLE audit_seal (
    from_position BIGINT PRIMARY KEY,
    to_position BIGINT NOT NULL UNIQUE,
    count BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    previous TEXT NOT NULL,
    hmac TEXT NOT NULL,
    sealed_at BIGINT NOT NULL
);

-- Tells a node that holds another key than the trail's; the key itself is never in the database.
CREATE TABLE audit_key (
    name TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL
);

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    until BIGINT NOT NULL
);
