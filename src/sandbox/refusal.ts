/** A request that the emulated service refuses; answered as FastAPI would, `{"detail": …}` with the status. */
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

/** A 422 in the shape in which FastAPI reports a parameter that it could not validate. */
export function invalidParameter(name: string, message: string, input: string | undefined): Refusal {
  const type = input === undefined ? 'missing' : 'value_error';
  return new Refusal(422, [{ type, loc: ['query', name], msg: message, input: input ?? null }]);
}
