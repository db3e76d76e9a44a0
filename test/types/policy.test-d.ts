import { expectTypeOf, test } from 'vitest'
import { setup } from 'xstate'
import { z } from 'zod'
import { Agent, type PolicyEvents, type PolicyTag, tool } from '../../src/index.ts'
import type { JsonValue } from '../../src/messages/json.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const verify = tool({
  name: 'verify',
  description: '',
  input: z.object({ name: z.string() }),
  execute: async ({ name }) => ({ known: name === 'Ada' }),
})
const look = tool({ name: 'look', description: '', execute: () => 'a view' })
const tools = [verify, look] as const
type Events = PolicyEvents<typeof tools>

test('the events of a policy have the names, arguments and results of the tools', () => {
  expectTypeOf<Extract<Events, { type: 'verify.call' }>['args']>().toEqualTypeOf<{ name: string }>()
  expectTypeOf<Extract<Events, { type: 'verify.done' }>['result']>().toEqualTypeOf<{ known: boolean }>()
  expectTypeOf<Extract<Events, { type: 'look.done' }>['result']>().toEqualTypeOf<JsonValue>()
  expectTypeOf<Extract<Events, { type: 'answer' }>['text']>().toEqualTypeOf<string>()
})

test('a policy needs no casts, and mistakes do not compile', () => {
  const made = setup({ types: { events: {} as Events, tags: {} as PolicyTag } })
  const policy = made.createMachine({
    initial: 'Unknown',
    states: {
      Unknown: {
        on: {
          'verify.call': { guard: ({ event }) => event.args.name !== '', actions: () => {} },
          'verify.done': { guard: ({ event }) => event.result.known, target: 'Known' },
        },
      },
      Known: { tags: 'approval', on: { 'look.call': { actions: () => {} } } },
    },
  })
  new Agent(scriptedModel([]), { tools: [...tools], policy })
  made.createMachine({
    // @ts-expect-error: there is no such tool.
    on: { 'verifi.call': { actions: () => {} } },
  })
  made.createMachine({
    // @ts-expect-error: the tool has no such argument.
    on: { 'verify.call': { guard: ({ event }) => event.args.nam === '', actions: () => {} } },
  })
  made.createMachine({
    // @ts-expect-error: there is no such tag.
    tags: 'hol',
  })
})
