import { Refusal } from './Refusal.ts'

/** Answers a request; what is refused on the way becomes a response, and so does what breaks. */
export const answering = async (
  request: Request,
  answer: (request: Request) => Promise<Response>,
  showError: (error: unknown) => string,
  errorBody: (refusal: Refusal) => Response = plainError,
): Promise<Response> => {
  try {
    return await answer(request)
  } catch (thrown) {
    return errorBody(thrown instanceof Refusal ? thrown : new Refusal(500, showError(thrown), 'server_error'))
  }
}

/** Clients show the text as the error. */
const plainError = ({ status, message }: Refusal): Response =>
  new Response(message, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

/** The id of a chat as clients make them. */
export const chatIdOf = (value: unknown): string => {
  if (typeof value === 'string' && value !== '' && value.length <= 200 && !/\p{Cc}/u.test(value)) return value
  throw new Refusal(400, 'The id of a chat must be 1 to 200 characters, none of them a control character.')
}

/** A part of a path; `''` if it is none. */
export const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return ''
  }
}
