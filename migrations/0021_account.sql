-- Requests may be counted for an account, so that a new key goes on where the old one was.

comment on table gmsi.api_usage is 'Requests booked per API key, or per account (GMSI_ACCOUNT), and calendar month (UTC). Each is booked before it is sent, so a crash can leave the number too high by the requests under way, never too low.';
comment on column gmsi.api_usage.key_fingerprint is 'The account; without one, the start of the SHA-256 hash of the key. The key itself is never stored.';
comment on table gmsi.request_rate is 'One row per API key, or per account (GMSI_ACCOUNT): the leaky bucket that limits the requests of all its processes. Written a few times a second while a load runs.';
comment on column gmsi.request_rate.key_fingerprint is 'As in gmsi.api_usage.';
