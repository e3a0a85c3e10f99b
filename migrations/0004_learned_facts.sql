-- What gmsi doctor --probe has learned about the service.

create table gmsi.learned_facts (
  feed text not null,
  fact text not null,
  value jsonb not null,
  evidence text not null,
  learned_at timestamptz not null default now(),
  confirmed_at timestamptz not null default now(),
  primary key (feed, fact)
);
comment on table gmsi.learned_facts is 'What gmsi doctor --probe has learned about a feed beyond what is documented. Planning uses end_date; a later probe that contradicts a fact fails, and the fact stays until --accept.';
comment on column gmsi.learned_facts.feed is 'Feed that was probed.';
comment on column gmsi.learned_facts.fact is 'end_date, time_zone, day_begin, time_rounding, record_order, page_size, record_id, look_back or token_lifetime.';
comment on column gmsi.learned_facts.value is 'A word; or bounds, least and most, in minutes (time_zone, day_begin); or the days that were answered and refused (look_back).';
comment on column gmsi.learned_facts.evidence is 'The answers that it was learned from, in words.';
comment on column gmsi.learned_facts.learned_at is 'When it was learned.';
comment on column gmsi.learned_facts.confirmed_at is 'The last probe that found it so.';
