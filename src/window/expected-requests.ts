/**
 * About how many requests draining windows takes, one a page. The least possible is one a window, whatever it returns,
 * so a window expected to be empty counts as one too.
 * @param windows how many windows there are of each length in days
 */
export function expectedRequests(
  windows: Iterable<{ readonly days: number; readonly windows: number }>,
  recordsPerDay: number,
  pageSize: number,
): number {
  let requests = 0;
  for (const { days, windows: many } of windows) {
    requests += many * Math.max(1, Math.ceil((days * recordsPerDay) / pageSize));
  }
  return requests;
}
