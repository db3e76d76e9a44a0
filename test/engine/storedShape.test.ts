/** A snapshot comes from a store, and may be older than this release, or broken: it is refused with a reason, not tripped over. */
import { describe, expect, test } from 'vitest'
import { createActor } from 'xstate'
import * as is from '../../machines/stored/shape.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'

test('a rule for stored data has every field of its type', () => {
  type Data = { name: string; inner: { count: number } }
  const inner = is.fields<Data['inner']>({ count: is.count })
  // @ts-expect-error A field without a rule.
  const short = is.fields<Data>({ name: is.text })
  // @ts-expect-error A field that the type does not have.
  const long = is.fields<Data>({ name: is.text, inner, other: is.text })
  // @ts-expect-error A rule for another type.
  const other = is.fields<Data>({ name: is.count, inner })
  // @ts-expect-error A group without one of its fields.
  const group = is.fields<Data>({ name: is.text, inner: is.fields<object>({}) })
  const right = is.fields<Data>({ name: is.text, inner })
  for (const shape of [short, long, other, group]) expect(shape('data', 1)).toMatch(/must be an object/)
  expect(right('', { name: 'a', inner: { count: 1 } })).toBeUndefined()
  expect(right('', { name: 'a', inner: {} })).toMatch(/^inner.count must be/)
})

describe('a stored snapshot', () => {
  const stored = async () => {
    const actor = new Agent(scriptedModel([[{ hang: true }]])).actor({ prompt: 'Go' }).start()
    const text = JSON.stringify(actor.getPersistedSnapshot())
    actor.stop()
    return JSON.parse(text)
  }
  const restored = (snapshot: object) =>
    new Promise((resolve) => {
      const agent = new Agent(scriptedModel(['ok']))
      const actor = createActor(agent.machine, { input: {}, snapshot: snapshot as never })
      actor.subscribe({ error: resolve, complete: () => resolve(actor.getSnapshot().output) })
      actor.start()
    })

  test('of this version goes on', async () => {
    expect(await restored(await stored())).toMatchObject({ status: 'complete', output: 'ok' })
  })

  test.each<[string, (context: Record<string, unknown>) => void, RegExp]>([
    ['of another version', (context) => Object.assign(context, { version: 1 }), /its version is 1/],
    ['without a version', (context) => delete context.version, /its version is missing/],
    ['without a group', (context) => delete context.round, /round must be an object, not undefined/],
    [
      'with a field of another kind',
      (context) => Object.assign(context, { history: {} }),
      /history must be a list, not an object/,
    ],
    [
      'with a field of another kind inside a group',
      (context) => Object.assign(context.round as object, { started: null }),
      /round.started must be a list, not null/,
    ],
  ])('%s is refused with a reason', async (_, change, reason) => {
    const snapshot = await stored()
    change(snapshot.context)
    const error = await restored(snapshot)
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(String(error)).toMatch(reason)
  })

  test('without a context is refused with a reason', async () => {
    const { context: _, ...rest } = await stored()
    expect(String(await restored(rest))).toMatch(/it has no context/)
  })
})
