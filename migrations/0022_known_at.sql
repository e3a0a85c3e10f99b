-- An import may write into the past (gmsi import --known-at), so what is said of answers as of a moment has an exception.

do $$
declare
  held record;
begin
  for held in
    select p.oid::regprocedure as name, d.description from pg_catalog.pg_proc p
    join pg_catalog.pg_description d on d.objoid = p.oid and d.classoid = 'pg_catalog.pg_proc'::regclass
    where p.pronamespace = 'gmsi'::regnamespace and d.description like '%never change%' and pg_has_role(p.proowner, 'usage')
  loop
    execute format('comment on function %s is %L', held.name,
      replace(held.description, 'a moment more than gmsi.as_of_delay() ago', 'a moment longer ago than gmsi.as_of_delay()') ||
      ' The exception is gmsi import --known-at, which writes rows as of a past moment (gmsi.loads.reason keeps it), but not before one that has a name (gmsi.moments).');
  end loop;
end $$;
