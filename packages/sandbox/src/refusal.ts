/** A request that the service refuses. Answered as by FastAPI: the status and `{"detail": …}`. */
export class Refusal extends Error {
  readonly status: number;
  readonly detail: unknown;

  constructor(status: number, detail: unknown) {
    super(typeof detail === 'string' ? detail : JSON.stringify(detail));
    this.name = 'Refusal';
    this.status = status;
    this.detail = detail;
  }
}

/** Returns a 422 in FastAPI's shape for an invalid parameter. */
export function invalidParameter(name: string, message: string, input: string | undefined): Refusal {
  const type = input === undefined ? 'missing' : 'value_error';
  return new Refusal(422, [{ type, loc: ['query', name], msg: message, input: input ?? null }]);
}
