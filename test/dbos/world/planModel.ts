import { setImmediate } from 'node:timers'
import { textOf } from '../../../src/messages/messages.ts'
import type { ChatModel, ModelSink } from '../../../src/model/chatModel.ts'
import type { Delta } from '../../../src/model/delta.ts'
import { scriptedModel } from '../../../src/testing/index.ts'
import { type PlannedTurn, planIn } from './plan.ts'

/** The model of the plans, without a network. It keeps nothing, so it says the same in every incarnation. */
export const planModel = (): ChatModel => ({
  ...scriptedModel([]),
  stream: ({ messages }, sink) => {
    const at = messages.findLastIndex((message) => message.role === 'user' && planIn(textOf(message)))
    const asked = messages[at]
    const nth = messages.slice(at).filter(({ role }) => role === 'model').length
    return play(readsOf(planIn(asked ? textOf(asked) : '')?.turns[nth] ?? { text: '' }, nth), sink)
  },
})

const readsOf = (turn: PlannedTurn, nth: number): Delta[][] => {
  if ('text' in turn) {
    const words = turn.text.match(/\S+\s*/g) ?? []
    return [...words.map((text): Delta[] => [{ type: 'text', text }]), [{ type: 'finish', reason: 'stop' }]]
  }
  const calls = turn.calls.map(
    ({ name, input }, index): Delta => ({
      type: 'toolCall',
      call: { id: `call_${nth}_${index}`, name, arguments: { ...input } },
    }),
  )
  return [calls, [{ type: 'finish', reason: 'toolCalls' }]]
}

/** Plays one read at a time, as from a socket. */
const play = (reads: Delta[][], sink: ModelSink): (() => void) => {
  let isClosed = false
  const next = (nth: number) => {
    setImmediate(() => {
      if (isClosed) return
      const read = reads[nth]
      if (!read) return sink.end()
      sink.deltas(read)
      next(nth + 1)
    })
  }
  next(0)
  return () => {
    isClosed = true
  }
}
