/** A refinement that asks the world may reject. The caller that waits for it gets that; no other does. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { compileSchema } from '../../src/tools/schema.ts'
import { type ToolOptions, tool } from '../../src/tools/tool.ts'
import { endOf, idle, stateName } from './watching.ts'

const unheard: unknown[] = []
const onRejection = (reason: unknown) => void unheard.push(reason)
let others: NodeJS.UnhandledRejectionListener[] = []

beforeEach(() => {
  unheard.length = 0
  others = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', onRejection)
})

afterEach(async () => {
  await turn()
  await turn()
  process.removeAllListeners('unhandledRejection')
  for (const other of others) process.on('unhandledRejection', other)
  expect(unheard).toEqual([])
})

const down = async () => {
  await turn()
  throw new Error('The registry is down.')
}
const known = z.object({ name: z.string().refine(down), note: z.string().optional() })

const start = (needsApproval: ToolOptions<typeof known>['needsApproval'] = false) => {
  const register = tool({
    name: 'register',
    description: '',
    input: known,
    needsApproval,
    execute: () => 'done',
  })
  const model = scriptedModel([[{ toolCall: { id: 'c', name: 'register', arguments: { name: 'a' } } }], 'ok'])
  const actor = new Agent(model, { tools: [register] }).actor({ prompt: 'Go' })
  actor.start()
  return actor
}

describe('a refinement that rejects', () => {
  test('rejects the validation, and nothing else', async () => {
    const { validate } = compileSchema(known, 'x')
    await expect(validate({ name: 'a' })).rejects.toThrow('The registry is down.')
  })

  test('is an error result of its tool', async () => {
    const { messages } = await endOf(start())
    expect(JSON.stringify(messages)).toContain('The registry is down.')
  })

  test.each<[ToolOptions<typeof known>['needsApproval']]>([[true], [() => false]])(
    'has a person asked before the tool runs',
    async (needsApproval) => {
      const actor = start(needsApproval)
      await idle()
      expect(stateName(actor.getSnapshot())).toBe('AwaitingApproval')
      actor.send({ type: 'tool.approve', callId: 'c' })
      const { messages } = await endOf(actor)
      expect(JSON.stringify(messages)).toContain('The registry is down.')
    },
  )

  test('fails a typed answer', async () => {
    const agent = new Agent(scriptedModel(['{"name":"a"}', '{"name":"a"}']))
    await expect(agent.sendFor('Go', known)).rejects.toThrow('The registry is down.')
  })
})

test('a schema without promises is checked at once, and an async one is run once', async () => {
  const plain = compileSchema(z.object({ n: z.coerce.number().int() }), 'x')
  expect(plain.validate({ n: '3' })).toEqual({ ok: true, value: { n: 3 } })
  let runs = 0
  const slow = z.number().refine(async (n) => {
    runs += 1
    return n > 2
  }, 'too small')
  const { validate } = compileSchema(z.object({ n: slow }), 'x')
  expect(await validate({ n: 3 })).toEqual({ ok: true, value: { n: 3 } })
  expect(await validate({ n: 1 })).toEqual({ ok: false, problem: 'n: too small' })
  expect(runs).toBe(2)
})

test('what is wrong is said in the words of zod', () => {
  const schema = z.object({ a: z.string(), b: z.number().max(3, { error: 'at most three' }) })
  const value = { a: 1, b: 9 }
  const issues = schema
    .safeParse(value)
    .error?.issues.map(({ message, path }) => `${path.join('.')}: ${message}`)
  expect(compileSchema(schema, 'x').validate(value)).toEqual({ ok: false, problem: issues?.join('; ') })
})
