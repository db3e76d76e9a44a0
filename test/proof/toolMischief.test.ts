import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { type ToolResultPart, toolResultsOf, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { type ToolContext, tool } from '../../src/tools/tool.ts'
import { recorder } from '../engine/sampleTools.ts'
import { idle } from '../engine/watching.ts'
import { anyInput, bad, calls, problemOf, resultOf, thenable } from './hostileTool.ts'
import { expectNothingUnhandled } from './interrupting.ts'

/** Whatever a tool does to what it was given, or is given itself, the run and its history stay whole. */
expectNothingUnhandled()

describe('a tool that changes what it was given', () => {
  const wreck = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const each of Object.values(value)) wreck(each)
    for (const key of Object.keys(value)) Reflect.deleteProperty(value, key)
    Reflect.set(value, 'evil', true)
  }

  test('its arguments: neither the conversation nor the next request', async () => {
    const inputs = [anyInput, z.looseObject({ list: z.array(z.any()) })]
    for (const input of inputs) {
      const model = scriptedModel([calls, 'went on'])
      const needsApproval = (args: unknown) => {
        wreck(args)
        return false
      }
      const tools = [
        tool({ name: 'bad', description: '', input, needsApproval, execute: (args) => wreck(args) }),
        recorder().tool,
      ]
      await new Agent(model, { tools }).send('Go')
      expect(model.requests[1]?.messages[1]?.parts[0]).toMatchObject({ arguments: { list: [{ n: 1 }] } })
    }
  })

  test('the history that the run was given: not the run', async () => {
    const history = [userMessage('first', { note: { a: 1 } }), { role: 'model' as const, parts: [] }]
    const model = scriptedModel([calls, 'went on'])
    const tools = [bad(() => wreck(history)), recorder().tool]
    const given = structuredClone(history)
    await new Agent(model, { tools }).send('Go', { history })
    expect(model.requests[1]?.messages.slice(0, 2)).toEqual(given)
  })

  test('the prototypes of the language, as arguments: they are plain keys', async () => {
    const polluting = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}'
    const seen: unknown[] = []
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'bad', arguments: polluting } }], 'ok'])
    await new Agent(model, { tools: [bad((args) => seen.push(args))] }).send('Go')
    expect(JSON.stringify(seen)).toBe(`[${polluting}]`)
    expect('polluted' in {}).toBe(false)
  })
})

describe('a tool that is called with', () => {
  const nested = (depth: number) => `${'{"a":'.repeat(depth)}{}${'}'.repeat(depth)}`
  const recursive = { jsonSchema: { type: 'object', additionalProperties: { $ref: '#' } } } as const

  test.each([300, 3000, 30_000])('arguments %d levels deep does not run', async (depth) => {
    const ran: unknown[] = []
    const turn: ScriptTurn = [{ toolCall: { id: 'a', name: 'bad', arguments: nested(depth) } }]
    for (const needsApproval of [false, true]) {
      const deep = tool({
        name: 'bad',
        description: '',
        input: recursive,
        needsApproval,
        execute: (a) => ran.push(a),
      })
      const { messages } = await new Agent(scriptedModel([turn, 'ok']), { tools: [deep] }).send('Go')
      expect(messages.flatMap(toolResultsOf)[0]?.result).toContain('nests deeper than 256 levels')
    }
    expect(ran).toEqual([])
  })

  test('a value that its schema forbids, by a check that answers like no promise of ours, does not run', async () => {
    const ran: unknown[] = []
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'elsewhere',
        validate: () =>
          thenable({ value: (done: (v: object) => void) => done({ issues: [{ message: 'no' }] }) }),
      },
    }
    const checked = tool({
      name: 'bad',
      description: '',
      input: { ...anyInput, schema },
      execute: (a) => ran.push(a),
    })
    expect(problemOf(await resultOf(checked))).toContain(': no')
    expect(ran).toEqual([])
  })
})

describe('a tool that does not end with its run', () => {
  test('and rejects after the abort is not a problem', async () => {
    let reject: (error: Error) => void = () => {}
    const controller = new AbortController()
    const late = bad((_, { signal }) => {
      queueMicrotask(() => controller.abort())
      return new Promise((__, no) => {
        reject = no
        expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(0)
      })
    })
    const agent = new Agent(scriptedModel([calls]), { tools: [late, recorder().tool] })
    await expect(agent.send('Go', { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortedError',
    })
    reject(new Error('too late'))
    await idle()
  })

  test('and goes on using its context changes nothing any more', async () => {
    let kept: ToolContext | undefined
    const hoarder = bad((_, context) => {
      kept = context
    })
    const agent = new Agent(scriptedModel([calls, 'went on']), {
      tools: [hoarder, recorder().tool],
    })
    const { usage } = await agent.send('Go')
    kept?.addUsage({ inputTokens: 1000 })
    kept?.self?.send({ type: 'abort' })
    await idle()
    expect(usage).toBeUndefined()
  })
})

describe('a tool that calls back into', () => {
  test('its own chat is refused, and the chat goes on', async () => {
    const model = scriptedModel([calls, 'went on', 'and on'])
    const tools = [bad(() => chat.send('Inside')), recorder().tool]
    const chat: Chat = new Chat(new Agent(model, { tools }))
    const { messages } = await chat.send('Go')
    expect(problemOf(messages.flatMap(toolResultsOf)[0] as ToolResultPart)).toContain('still answering')
    expect((await chat.send('More')).output).toBe('and on')
  })

  test('its own run, by aborting it, ends it once', async () => {
    const controller = new AbortController()
    const agent = new Agent(scriptedModel([calls]), {
      tools: [bad(() => controller.abort()), recorder().tool],
    })
    await expect(agent.send('Go', { signal: controller.signal })).rejects.toMatchObject({
      name: 'AbortedError',
    })
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('its own run, by steering it, is applied', async () => {
    const model = scriptedModel([calls, 'went on'])
    const tools = [bad(() => chat.steer('faster')), recorder().tool]
    const chat: Chat = new Chat(new Agent(model, { tools }))
    await chat.send('Go')
    expect(model.requests[1]?.messages.at(-1)?.parts.at(-1)).toEqual({ type: 'text', text: 'faster' })
  })
})
