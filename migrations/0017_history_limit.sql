-- A refusal says something about its own series only. A limit for a whole job is set by the job, or learned by a probe.

alter table gmsi.windows add column refused_with integer;
comment on column gmsi.windows.refused_with is 'HTTP status with which the service refused the first page when the window was asked for last. Null if it was answered, failed otherwise, or was never asked for.';
-- Few of the refused windows were asked for; each load looks through them at its end.
create index windows_refused on gmsi.windows (feed, match_type, last_day) where state = 'refused' and refused_with is not null;
comment on column gmsi.windows.state is 'pending: to do, perhaps half drained · draining: claimed by load_id · drained: all pages loaded · failed: see last_error, a later load takes it up at its checkpoint · refused: the service refused it (refused_with), or it is older than two windows of its series that the service refused and was not asked for (refused_with is null); each run asks again for some of these.';
comment on column gmsi.windows.finished_at is 'When it was drained, failed, refused or skipped.';
comment on column gmsi.runs.newest_first is 'True if the newest days are drained first, as the job says or since two windows were refused.';

-- Before, refusals of two series gave up the old windows of all. The next load asks for them again.
update gmsi.windows set state = 'pending', last_error = null, finished_at = null where state = 'refused';

update gmsi.learned_facts set fact = 'history_limit' where fact = 'look_back';
comment on column gmsi.learned_facts.fact is 'end_date, time_zone, day_begin, time_rounding, record_order, page_size, record_id, history_limit or token_lifetime.';
comment on column gmsi.learned_facts.value is 'A word; or bounds, least and most, in minutes (time_zone, day_begin); or the days that were answered and refused (history_limit).';
comment on table gmsi.learned_facts is 'What gmsi doctor --probe has learned about a feed beyond what is documented. Planning uses end_date and history_limit; a later probe that contradicts a fact fails, and the fact stays until --accept.';
