-- Ways into a long trail that go by one column, and how many calls there were, hour by hour.

CREATE INDEX audit_event_request ON audit_event (request_id);
CREATE INDEX audit_event_target ON audit_event (target, at, audit_id) WHERE target IS NOT NULL;
CREATE INDEX audit_event_caller ON audit_event (caller, at, audit_id);
CREATE INDEX audit_event_failed ON audit_event (at, audit_id) WHERE outcome <> 'ok';

-- Up to where a duration counts as which, in microseconds: ten steps a decade, from 0.1 ms to 100 s.
CREATE TABLE duration_bound (
    up_to_us BIGINT PRIMARY KEY
);
INSERT INTO duration_bound (up_to_us) VALUES
    (100), (120), (150), (200), (250), (300), (400), (500), (600), (800), (1000), (1200), (1500), (2000),
    (2500), (3000), (4000), (5000), (6000), (8000), (10000), (12000), (15000), (20000), (25000), (30000),
    (40000), (50000), (60000), (80000), (100000), (120000), (150000), (200000), (250000), (300000), (400000),
    (500000), (600000), (800000), (1000000), (1200000), (1500000), (2000000), (2500000), (3000000),
    (4000000), (5000000), (6000000), (8000000), (10000000), (12000000), (15000000), (20000000), (25000000),
    (30000000), (40000000), (50000000), (60000000), (80000000), (100000000), (9223372036854775807);

-- Calls of an hour (unix time in hours) that took up to so long. A row of the trail is counted when it is sealed.
CREATE TABLE audit_hour (
    hour BIGINT NOT NULL,
    operation TEXT NOT NULL,
    outcome TEXT NOT NULL,
    up_to_us BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    PRIMARY KEY (hour, operation, outcome, up_to_us)
);
INSERT INTO audit_hour (hour, operation, outcome, up_to_us, calls)
SELECT hour, operation, outcome, up_to_us, COUNT(*)
FROM (SELECT at / 3600000 AS hour, CASE WHEN effect = '' THEN 'unknown' ELSE operation END AS operation, outcome,
             (SELECT MIN(b.up_to_us) FROM duration_bound AS b WHERE b.up_to_us >= audit_event.duration_us) AS up_to_us
      FROM audit_event WHERE position IS NOT NULL) AS sealed
GROUP BY hour, operation, outcome, up_to_us;
