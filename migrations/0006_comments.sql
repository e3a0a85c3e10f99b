-- Comments that named what is gone: shared windows, requests booked in blocks, facts that no probe tests.

comment on column gmsi.loads.windows_planned is 'Number of windows to drain when the load began. Null for an import and for a repair, which drain none.';
comment on column gmsi.api_usage.updated_at is 'When a request was last booked, or its booking was cancelled because it was not sent.';
comment on table gmsi.request_rate is 'One row per API key: the leaky bucket that limits the requests of all processes with this key. Written before each request.';
comment on column gmsi.learned_facts.fact is 'end_date, time_zone, day_begin, time_rounding or history_limit.';
