import './moved-time.ts';
import { vi } from 'vitest';

const waitFor = vi.waitFor;

/** A busy machine can starve a process for seconds: a state that a test waits for counts, however late it comes. */
vi.waitFor = (check, options) =>
  waitFor(check, typeof options === 'number' ? options : { timeout: 20_000, ...options });
