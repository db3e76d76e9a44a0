import { assign, setup } from 'xstate'
import { z } from 'zod'
import type { PolicyEvents, PolicyTag } from '../../machines/policy/policyEvents.ts'
import type { JsonObject } from '../../src/messages/json.ts'
import { type ChatMessage, toolResultsOf } from '../../src/messages/messages.ts'
import type { ScriptTurn } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'

/** The tools of a refund desk, and the calls that ran. */
export const refundDesk = () => {
  const ran: string[] = []
  const verify = tool({
    name: 'verify_customer',
    description: 'Checks who the customer is',
    input: z.object({ name: z.string() }),
    execute: ({ name }) => {
      ran.push(`verify ${name}`)
      return { known: name === 'Ada' }
    },
  })
  const refund = tool({
    name: 'refund',
    description: 'Pays money back',
    input: z.object({ euros: z.number() }),
    execute: ({ euros }) => {
      ran.push(`refund ${euros}`)
      return `paid ${euros}`
    },
  })
  const tools = [verify, refund] as const
  const policy = setup({
    types: {
      events: {} as PolicyEvents<typeof tools>,
      tags: {} as PolicyTag,
      context: {} as { left: number },
    },
    actions: {
      spend: assign(({ context, event }) => ({
        left: event.type === 'refund.call' ? context.left - event.args.euros : context.left,
      })),
    },
  }).createMachine({
    id: 'refunds',
    context: { left: 100 },
    initial: 'Unknown',
    states: {
      Unknown: {
        on: {
          'verify_customer.call': { actions: [], reenter: true, target: 'Unknown' },
          'verify_customer.done': { guard: ({ event }) => event.result.known, target: 'Verified' },
        },
      },
      Verified: {
        on: {
          'refund.call': [
            { guard: ({ context, event }) => event.args.euros <= context.left, actions: 'spend' },
            { target: 'Asking' },
          ],
        },
      },
      Asking: {
        tags: 'approval',
        meta: { reason: 'the refund is more than is left' },
        on: { 'refund.approved': 'Verified', 'refund.rejected': 'Verified' },
      },
    },
  })
  return { tools: [...tools], policy, ran }
}

export const call = (id: string, name: string, args: JsonObject = {}) => ({
  toolCall: { id, name, arguments: args },
})

export const verified: ScriptTurn = [call('v', 'verify_customer', { name: 'Ada' })]

/** The results that the model saw, by call id. */
export const resultsIn = (messages: readonly ChatMessage[]): Record<string, string> =>
  Object.fromEntries(messages.flatMap(toolResultsOf).map(({ id, result }) => [id, result]))
