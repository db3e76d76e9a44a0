import { type ErrorData, errorDataOf } from '../../src/messages/errors.ts'

/** The code of the only failure that neither a retry nor another model can fix. */
export const outOfTime = 'total_timeout'

export const timeout = (message: string): ErrorData => ({ name: 'TimeoutError', message, retryable: true })

export const totalTimeout = (totalMs: number | undefined): ErrorData => ({
  name: 'TimeoutError',
  message: `The run took longer than ${totalMs} ms (timeouts.totalMs).`,
  code: outOfTime,
  retryable: false,
})

export const uselessAnswer = (raw = 'error'): ErrorData => ({
  name: 'ModelError',
  message: `The provider did not give a usable answer (${raw}).`,
  code: raw,
  retryable: true,
})

export const emptyPauses = (raw = 'pause'): ErrorData => ({
  name: 'ModelError',
  message: `The provider paused twice in a row (${raw}) and sent nothing in between. If it compacts the conversation itself, give its compaction a higher trigger, or switch it off.`,
  code: 'empty_pauses',
  retryable: false,
})

/** The failure of a run whose calls got no decision in time. */
export const expiry = (names: readonly string[]): ErrorData => ({
  name: 'TimeoutError',
  message: `No decision on ${names.map((name) => `"${name}"`).join(', ')} came in time (expiresMs).`,
  code: 'expired',
  retryable: false,
})

export const uselessSummary: ErrorData = {
  name: 'ModelError',
  message: 'The conversation is too long, and its summary did not make it shorter.',
  code: 'context_overflow',
  retryable: false,
}

export const noSummary: ErrorData = {
  name: 'ModelError',
  message: 'The model did not write a summary of the conversation.',
  code: 'no_summary',
  retryable: true,
}

export const truncation: ErrorData = {
  name: 'ModelError',
  message: 'The stream ended before the answer was complete.',
  code: 'truncated',
  retryable: true,
}

/** The failure of a chart whose child broke instead of ending: a bug of an adapter, or of the chart itself. */
export const broken = (thrown: unknown, orchestrator: string, state: string): ErrorData => ({
  ...errorDataOf(thrown),
  orchestrator,
  state,
})

/** The failure of a part of the lifecycle chart, such as one that the user replaced. Another try would fail again. */
export const brokenPart = (thrown: unknown, state: string): ErrorData => ({
  ...broken(thrown, 'agent', state),
  retryable: false,
})
