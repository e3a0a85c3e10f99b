import { childEnvironment } from '../../src/warehouse/embedded/account.ts';

/**
 * Lets embedded servers have the time that `faketime` gives the tests (`npm run test:any-day`). The program gives a server almost
 * no environment, so it would keep the machine's.
 */
const { LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC } = process.env;
if (FAKETIME) Object.assign(childEnvironment, { LD_PRELOAD, FAKETIME, FAKETIME_DONT_FAKE_MONOTONIC });
