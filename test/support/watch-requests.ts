import type { Sandbox, ScriptedFault, SeenRequest } from '#sandbox';

/**
 * Every request for a page of a feed from now on, in the order of arrival; filled while the sandbox runs.
 * @param faults a script of faults that still applies
 */
export function watchRequests(
  sandbox: Pick<Sandbox, 'script'>,
  faults: readonly ScriptedFault[] = [],
): SeenRequest[] {
  const seen: SeenRequest[] = [];
  // A step that never matches sees every request and takes none.
  const match = (request: SeenRequest) => {
    if (request.path.includes('/feed/')) seen.push(request);
    return false;
  };
  sandbox.script([{ kind: 'latency', match }, ...faults]);
  return seen;
}

/** The first pages among requests: one for each window that was begun, or begun again. */
export function firstPages(requests: readonly SeenRequest[]): SeenRequest[] {
  return requests.filter(({ token }) => token === null);
}
