-- How long ago a moment must be so that the answer of headlines_as_of never changes.

create function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval '10 seconds';
comment on function gmsi.as_of_delay() is 'How long ago a moment must be so that headlines_as_of never answers differently for it again. A transaction that writes rows must commit within half of it, or is rolled back and tried again. If the disk is slow, the owner may replace it: create or replace function gmsi.as_of_delay() returns interval language sql immutable parallel safe return interval ''30 seconds''.';

create function gmsi.refuse_late_commit() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  took interval := clock_timestamp() - transaction_timestamp();
begin
  if took > gmsi.as_of_delay() / 2 then
    raise exception 'the transaction took % s, more than half of gmsi.as_of_delay(), which is % s',
                    round(extract(epoch from took), 1), extract(epoch from gmsi.as_of_delay())::float8
      using errcode = '25P04';
  end if;
end $$;
comment on function gmsi.refuse_late_commit() is 'Fails in a transaction that is older than half of gmsi.as_of_delay(): its rows say changed_at of its beginning, and somebody may already have asked for that moment. Sent together with every COMMIT of feed rows.';

comment on function gmsi.headlines_as_of(timestamptz) is 'gmsi.headlines exactly as it stood at a moment: the version of each headline that this warehouse held then, the retracted ones (retracted_at is set) included. Its columns are those of gmsi.headlines that come with the warehouse. For a moment more than gmsi.as_of_delay() ago the answer never changes. Filters on country, topic and published_at reach the indexes.';
