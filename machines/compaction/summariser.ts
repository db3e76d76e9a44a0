import { type EventObject, fromCallback } from 'xstate'
import type { ChatMessage } from '../../src/messages/messages.ts'
import type { Usage } from '../../src/messages/result.ts'
import type { ModelSink } from '../../src/model/chatModel.ts'
import type { ResolvedConfig } from '../agent/agentConfig.ts'
import type { ChildEvent } from '../agent/events.ts'
import { noSummary, truncation } from '../agent/failures.ts'
import { clockIn } from '../logic/systemTime.ts'
import { AnswerTimer } from '../model/AnswerTimer.ts'
import { askModel, modelFailure } from '../model/askModel.ts'

export type SummariserInput = {
  messages: ChatMessage[]
  /** Which of the agent's models is asked, unless there is one for summaries. */
  modelIndex: number
  /** The name of the request, for the host of the run. */
  name: string
  /** Not before that, after a failure. */
  at: number
  deadlineAt: number | null
}

/** Asks for a summary: reports `summary.done` or `summary.failed`, once. */
export const summariser = (config: ResolvedConfig) =>
  fromCallback<EventObject, SummariserInput>(({ input, sendBack, system, self }) => {
    const clock = clockIn(system)
    /** Returns a function that closes the request. */
    const ask = (): (() => void) => {
      let text = ''
      let usage: Usage | null = null
      let isFinished = false
      let isOver = false
      const tell = (event: ChildEvent) => {
        if (isOver) return
        isOver = true
        timer.stop()
        sendBack(event)
      }
      const fail = (thrown: unknown) => tell({ type: 'summary.failed', error: modelFailure(thrown), usage })
      const timer = new AnswerTimer(config, clock, input.deadlineAt, fail)
      const sink: ModelSink = {
        deltas: (deltas) => {
          for (const delta of deltas) {
            if (delta.type === 'text') text += delta.text
            if (delta.type === 'usage') usage = { ...usage, ...delta.usage }
            if (delta.type === 'finish') isFinished = delta.reason === 'stop' || delta.reason === 'length'
            if (delta.type === 'error') fail(delta.error)
            else timer.read(clock.now())
          }
        },
        end: () => {
          if (!isFinished) fail(truncation)
          else if (text.trim() === '') fail(noSummary)
          else tell({ type: 'summary.done', text, usage })
        },
        fail,
      }
      const { model = config.models[input.modelIndex] } = { ...config.compaction }
      let close = () => {}
      try {
        if (!model) throw new Error(`The agent has no model number ${input.modelIndex}.`)
        const request = { messages: input.messages, cache: 'off' as const }
        close = askModel(config, self, { model, request, name: input.name }, sink)
      } catch (thrown) {
        fail(thrown)
      }
      return () => {
        // A model may report a failure when it is closed.
        isOver = true
        timer.stop()
        close()
      }
    }
    const wait = input.at - clock.now()
    if (wait <= 0) return ask()
    let stop = () => {}
    const waiting = clock.setTimeout(() => {
      stop = ask()
    }, wait)
    return () => {
      clock.clearTimeout(waiting)
      stop()
    }
  })
