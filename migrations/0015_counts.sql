-- What each window has counted, so that a check can compare it with what the tables hold.

alter table gmsi.windows add column rows_met integer[];
comment on column gmsi.windows.rows_met is 'Distinct rows that this drain has met so far, on each of its days (UTC) from first_day on, counted from what the service sent; of a drain that meets more than 100,000 rows, those. Null if the drain began before this was counted.';
