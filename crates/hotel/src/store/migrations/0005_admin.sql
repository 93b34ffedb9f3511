-- What administrators see of tokens.

-- Unix milliseconds, at most a minute behind; none while the token was never used.
ALTER TABLE api_token ADD COLUMN last_used_at BIGINT;
