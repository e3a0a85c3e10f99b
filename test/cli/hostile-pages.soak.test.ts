import { it } from 'vitest';
import { expectWithstood, hostile, quick } from './hostile-pages.ts';

const others = Object.entries(hostile).filter(([name]) => !quick.includes(name));

it.each(others)('takes less than 600 MB when eight windows are sent %s', (_, what) => expectWithstood(what));
