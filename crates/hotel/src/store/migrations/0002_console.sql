-- The people of the console, where they are logged in, and how often somebody tried to.

CREATE TABLE console_user (
    user_id BIGINT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    role TEXT NOT NULL CHECK (role IN ('viewer', 'clerk', 'admin')),
    -- Argon2id in the PHC string format, so that its parameters can change with the next password.
    password_hash TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    disabled_at BIGINT
);

-- The cookie holds the secret, this table its SHA-256.
CREATE TABLE console_session (
    digest TEXT PRIMARY KEY,
    user_id BIGINT NOT NULL REFERENCES console_user (user_id),
    created_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL
);
CREATE INDEX console_session_user ON console_session (user_id);

-- Attempts to log in since began_at, by account and by address.
CREATE TABLE console_attempt (
    subject TEXT PRIMARY KEY,
    began_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL
);
