-- Named moments have all digits of the times that versions have, so that the name of such a time names that version.
comment on column gmsi.moments.at is 'The moment.';
