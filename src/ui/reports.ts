import { AbortedError, describeThrown } from '../messages/errors.ts'
import { HttpError } from './request.ts'
import type { Turn, TurnOutcome } from './turn.ts'

/** The request in which an error happened, and the id of its run, if one had begun. */
export type ErrorPlace = { request: Request; run: string | undefined }

/**
 * An answer that has ended, or waits, for programs that keep the conversation themselves.
 *
 * @example uiMessageHandler(agent, { onFinish: ({ chatId, messages }) => save(chatId, messages) })
 */
export type FinishedAnswer = TurnOutcome & {
  request: Request
  /** The id of the chat; `openaiHandler` has none. */
  chatId: string | undefined
  /** The id of the run. */
  run: string
}

/** The functions through which a handler reports to its operator. */
export type ReportOptions = {
  /**
   * Gets every error that is not the client's, with the request and the id of the run. The client sees only the text of
   * `showError`. Default: prints one line to standard error.
   */
  onError?: (error: unknown, place: ErrorPlace) => unknown
  /**
   * Gets the whole conversation and the usage when an answer has ended, or waits for a decision. The response ends after
   * it. Default: nothing happens.
   */
  onFinish?: (finished: FinishedAnswer) => unknown
}

/** Reports an error. A client that leaves, or sends nonsense, is not an error of the server. */
const reportError = async (
  { onError = printError }: ReportOptions,
  error: unknown,
  place: ErrorPlace,
): Promise<void> => {
  if (error instanceof AbortedError || (error instanceof HttpError && error.status < 500)) return
  try {
    await onError(error, place)
  } catch (thrown) {
    printError(error, place)
    printError(thrown, place)
  }
}

/** Reports errors before a turn is followed. */
export const reporting = (options: ReportOptions, request: Request) => ({
  report: (error: unknown) => reportError(options, error, { request, run: undefined }),
})

/** Prints one line. The query is left out: it may hold a token. */
const printError = (error: unknown, { request, run }: ErrorPlace): void => {
  const { pathname } = new URL(request.url)
  const where = `${request.method} ${pathname}${run === undefined ? '' : `, run ${run}`}`
  const name = error instanceof Error ? error.name : 'Error'
  const line = `statewire: ${where}: ${name}: ${describeThrown(error)}`
  // One line, whatever a provider or a path puts into it.
  console.error(line.replace(/[\p{Cc}\u2028\u2029]+/gu, ' '))
}

/** Reports the errors and the outcome of a turn while it is followed. */
export const reported = (
  turn: Turn,
  request: Request,
  { chatId, ...options }: ReportOptions & { chatId?: string },
): Turn => ({
  ...turn,
  follow: async (listener) => {
    let run: string | undefined
    const onEvent: typeof listener.onEvent = (event) => {
      if (event.type === 'begin') run = event.runId
      listener.onEvent(event)
    }
    let outcome: TurnOutcome | undefined
    try {
      outcome = (await turn.follow({ ...listener, onEvent })) ?? (await turn.outcome?.())
    } catch (error) {
      await reportError(options, error, { request, run })
      throw error
    }
    if (outcome && run !== undefined)
      try {
        await options.onFinish?.({ ...outcome, request, chatId, run })
      } catch (error) {
        // The answer is complete, whether it could be kept or not.
        await reportError(options, error, { request, run })
      }
    return outcome
  },
})
