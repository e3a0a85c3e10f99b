-- The zone of times is no longer probed.
delete from gmsi.learned_facts where fact = 'time_zone';
comment on column gmsi.learned_facts.fact is 'end_date, day_begin, time_rounding or history_limit.';
comment on column gmsi.learned_facts.value is 'For day_begin: bounds in minutes, least and most. For history_limit: the days that were answered and refused. Otherwise a word.';
