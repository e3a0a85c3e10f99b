import { it } from 'vitest';
import { loads, loseEachReply } from './losing-replies.ts';

/* The server has done its work, and its reply is lost: what is there already shows it. */

/** The last message of a transaction that writes rows or makes a partition, a claim, and the begin of a drain. */
const decisive =
  /refuse_late_commit|update gmsi\.queue w set state = 'draining'|asked_at = clock_timestamp\(\)/;

it.each(Object.entries(loads))('%s may lose the reply to a commit, which counts once', (_, kind) =>
  loseEachReply(kind, 2, decisive),
);
