-- The warehouse alone hands out the rate of a key.

alter table gmsi.request_rate drop column redis_seen_at, drop column redis_begins_at;
