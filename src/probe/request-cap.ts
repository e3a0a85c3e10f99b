import type { RequestBudget } from '../api/page.ts';
import { GmsiError } from '../errors.ts';

/** The requests that this run may send are used up; what is still to be found out stays unknown. */
export class RequestCapReached extends GmsiError {
  override readonly kind = 'skippable';

  constructor(most: number) {
    super(`all ${most} requests are used up`);
  }
}

/** Books at most so many requests, tries of one that failed included. */
export function capRequests(budget: RequestBudget, most: number): RequestBudget {
  let left = most;
  return {
    async book(signal) {
      if (left === 0) throw new RequestCapReached(most);
      // Before the booking, since another request may ask meanwhile.
      left--;
      await budget.book(signal);
    },
  };
}
