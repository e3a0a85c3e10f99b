import type { Sandbox, SeenRequest } from '#sandbox';
import { servedBy, type TruthScope } from './truth.ts';
import { watchRequests } from './watch-requests.ts';

/** Which series a request is of, as `US Inflation-Food`. */
export const seriesOf = ({ path, query }: SeenRequest) => `${path.split('/').at(-1)} ${query.topic}`;

/** Refuses first pages with 404 as long as `isRefused` says so; what was asked for and what was refused. */
export function refusing(
  sandbox: Pick<Sandbox, 'script'>,
  isRefused: (series: string, from: string) => boolean,
) {
  const refused: SeenRequest[] = [];
  const match = (request: SeenRequest) => {
    const { path, query, token } = request;
    if (!path.includes('/feed/historical/') || token !== null) return false;
    if (!isRefused(seriesOf(request), query.start_date!)) return false;
    refused.push(request);
    return true;
  };
  const requests = watchRequests(sandbox, [
    { kind: 'refuse', status: 404, detail: 'no such data', times: 1e6, match },
  ]);
  return { requests, refused };
}

/** What the service serves of series that begin at different dates. */
export function servedFrom(sandbox: Sandbox, scope: TruthScope, begins: (series: string) => string) {
  return scope.countries.flatMap((country) =>
    scope.topics.flatMap((topic) => {
      const from = [begins(`${country} ${topic}`), scope.from].sort().at(-1)!;
      return from > scope.to
        ? []
        : servedBy(sandbox, { ...scope, countries: [country], topics: [topic], from });
    }),
  );
}

/** In an order of their own, whichever series they came from. */
export const sorted = <Row>(rows: readonly Row[]) =>
  rows
    .map((row) => [JSON.stringify(row), row] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, row]) => row);
