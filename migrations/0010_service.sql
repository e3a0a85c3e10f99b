-- The addresses that have answered, so that every process knows them: the errors of such an address are passing.

alter table gmsi.origin add column addresses text[] not null default '{}';
comment on column gmsi.origin.addresses is 'Addresses of the service (GMSI_BASE_URL and GMSI_LIVE_BASE_URL, with /v1) whose answers were loaded. An error of another address may mean that the address is wrong.';
