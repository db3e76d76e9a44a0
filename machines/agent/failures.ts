import { type ErrorData, errorDataOf } from '../../src/messages/errors.ts'

/** The code of the one failure that neither a retry nor another model can mend. */
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

/** The failure of a part of the engine, such as one the user replaced. */
export const broken = (thrown: unknown, state: string): ErrorData => ({
  ...errorDataOf(thrown, 'OrchestrationError'),
  orchestrator: 'agent',
  state,
  retryable: false,
})
