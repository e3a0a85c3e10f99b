-- The brake on retractions counts each series for itself: one busy series that answers let an outage retract rows of all others.

delete from gmsi.unconfirmed;
alter table gmsi.unconfirmed drop column rows;
alter table gmsi.unconfirmed add column by_series jsonb not null default '{}';
comment on table gmsi.unconfirmed is 'For each job, how many more rows of each series its loads have retracted than the service has sent since. If a window would make their sum more than 10, the window fails: the service probably answers with nothing.';
comment on column gmsi.unconfirmed.by_series is 'For each series, as the list of its parts: rows retracted less records sent. A series that is not there has sent as many.';
