/** A request as a matcher sees it: the path without the query, and the decoded query with the fields of a JSON body. */
export interface SeenRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** The request's cursor; `null` for a first page. */
  readonly token: string | null;
}
