import type { AnyStateMachine } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import type { ChatModel } from '../../src/model/chatModel.ts'
import type { PolicyClaim } from '../../src/testing/provePolicy.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import type { dice } from '../proof/dice.ts'
import { call } from './refunds.ts'

type Dice = ReturnType<typeof dice>

/** The claim for each pair of tools that the second is never called once the first is done, by the names of the two. */
export const neverAfter = (names: readonly string[]): Record<string, PolicyClaim> =>
  Object.fromEntries(
    names.flatMap((first) =>
      names.map((second): [string, PolicyClaim] => [
        `${first} ${second}`,
        ({ event, seen }) => event === `${second}.call` && seen.has(`${first}.done`),
      ]),
    ),
  )

/** A model that makes random calls for some turns. */
const randomModel = (names: readonly string[], { below, pick }: Dice): ChatModel => {
  let turn = 0
  return {
    ...scriptedModel([]),
    stream: (request, sink) => {
      turn += 1
      const isLast = turn % 5 === 0
      const calls = Array.from({ length: 1 + below(3) }, (_, index) => call(`${turn}.${index}`, pick(names)))
      return scriptedModel([isLast ? 'done' : calls]).stream(request, sink)
    },
  }
}

/** Runs a policy with random calls, results, decisions and aborts, two runs a conversation: the states that it was in, and the pairs of which the second tool ran after the first. */
export const randomRuns = async (
  machine: AnyStateMachine,
  names: readonly string[],
  runs: number,
  random: Dice,
): Promise<{ values: Set<string>; pairs: Set<string> }> => {
  const { chance } = random
  const values = new Set<string>()
  const pairs = new Set<string>()
  for (let run = 0; run < runs; run += 1) {
    const tools = names.map((name) =>
      tool({
        name,
        description: name,
        execute: () => (chance(0.3) ? Promise.reject(new Error('no')) : 'ok'),
      }),
    )
    const agent = new Agent(randomModel(names, random), {
      tools,
      policy: { machine, others: 'refuse', holdMs: 100 },
      onApproval: () => chance(0.5),
      inspect: (event) => {
        if (event.type === '@xstate.snapshot' && Object(event.actorRef).id === 'policy')
          values.add(JSON.stringify(Object(event.snapshot).value))
      },
    })
    const seen = new Set<string>()
    // What was seen in a conversation counts for its next run, however the one before has ended.
    let policy: JsonObject | undefined
    for (const text of ['Go', 'On']) {
      const handle = agent.start(text, { maxSteps: 6, ...(policy && { policy }) })
      const nameOf = new Map<string, string>()
      const done = new Set<string>()
      handle.on('message', ({ message }) => {
        for (const part of message.parts) if (part.type === 'toolCall') nameOf.set(part.id, part.name)
      })
      handle.on('tool.result', ({ callId, result }) => {
        if (!result.isError) done.add(callId)
        if (chance(0.03)) handle.abort()
      })
      handle.on('policy', ({ gate, callId = '', verdict }) => {
        const name = nameOf.get(callId) ?? ''
        if (gate === 'Results' && done.has(callId) && verdict === 'pass') seen.add(name)
        if (gate === 'Calls' && verdict !== 'refuse') for (const first of seen) pairs.add(`${first} ${name}`)
      })
      const end: unknown = await handle.result.catch(({ partial }) => partial)
      policy = Object(end).policy
    }
  }
  return { values, pairs }
}
