/** A request that is answered with an error, which the client may read. */
export class Refusal extends Error {
  readonly status: number
  /** A word for programs. */
  readonly code: string

  constructor(status: number, message: string, code = 'invalid_request') {
    super(message)
    this.status = status
    this.code = code
  }
}
