/** A message that is to be seen now, in every state that a run can rest in: the states are those of the chart. */
import { expect, test } from 'vitest'
import { type AnyMachineSnapshot, getNextSnapshot } from 'xstate'
import { agentStates, statePath } from '../../machines/agent/states.ts'
import type { StreamingState } from '../../machines/index.ts'
import { textOf } from '../../src/messages/messages.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { agentChart } from './charts.ts'
import { walkChart } from './walk.ts'

const text = 'Use euros.'

/** Each state is tried so often in each variant of the chart. */
const tries = 5

const lost = 'lost or doubled'

/** The fate of the message: the model is asked again with it, or it is kept for later. */
const fateOf = ({ value, context }: { value: unknown; context: StreamingState }): string => {
  const { messages, steering, options } = context
  const isSeen = messages.some((message) => message.role === 'user' && textOf(message).includes(text))
  const isKept = [...steering.flat(), ...(options.steering ?? [])].includes(text)
  if (isSeen === isKept) return lost
  // The model is asked again, unless a limit of the run does not let it.
  return isKept ? 'kept' : `seen, ${statePath(value)}`
}

test('in each state the message is either seen at once or kept, and never both', () => {
  const fates = new Map<string, Set<string>>()
  const times = new Map<string, number>()
  walkChart(
    agentChart,
    ({ variant, actor, path, index }) => {
      const snapshot = actor.getSnapshot() as AnyMachineSnapshot
      const state = statePath(snapshot.value)
      const place = `${variant} ${state}`
      if (snapshot.status !== 'active' || path.events.length - index > 1) return
      if ((times.get(place) ?? 0) >= tries) return
      times.set(place, (times.get(place) ?? 0) + 1)
      const event = { type: 'message', text, when: 'now' }
      const next = getNextSnapshot(actor.logic, snapshot, event) as AnyMachineSnapshot
      const flaws = validateHistory(next.context.history).filter(isFatal)
      expect(flaws.filter(({ code }) => code !== 'missingResult')).toEqual([])
      fates.set(state, (fates.get(state) ?? new Set()).add(fateOf(next)))
    },
    8,
  )
  const resting = [...agentStates()].filter(([, { isStorable, isFinal }]) => isStorable && !isFinal)
  expect([...fates.keys()].toSorted()).toEqual(resting.map(([path]) => path).toSorted())
  const found = [...fates].flatMap(([state, all]) => [...all].map((fate) => [state, fate] as const))
  expect(found.filter(([, fate]) => fate === lost)).toEqual([])
  // An answer is not cut off where a limit lets no other one follow.
  const cut = found.filter(
    ([state, fate]) => state.startsWith('Accumulating') && /Complete|AtLimit/.test(fate),
  )
  expect(cut).toEqual([])
  const seenIn = found.flatMap(([state, fate]) => (fate === 'kept' ? [] : state))
  // Where a model answers, or the run only waits: not where a tool, a person, the policy or a summary comes first.
  expect([...new Set(seenIn)].toSorted()).toEqual([
    'Accumulating.BackingOff',
    'Accumulating.Requesting',
    'Accumulating.Streaming',
    'AwaitingTasks',
    'AwaitingTools',
  ])
})
