-- The warehouse alone hands out the rate of a key; and a refused key is a kind of alert.

alter table gmsi.request_rate drop column redis_seen_at, drop column redis_begins_at;

alter table gmsi.alerts drop constraint alerts_kind_check;
alter table gmsi.alerts add constraint alerts_kind_check check (kind in ('failed windows', 'budget', 'late', 'key refused'));
comment on column gmsi.alerts.kind is 'failed windows: some windows failed and are not drained since · budget: the month''s requests will not last for the schedule · late: the newest covered day is older than max_lag · key refused: the service refuses the API key.';
