import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import {
  type ChatMessage,
  modelMessage,
  type Part,
  systemMessage,
  userMessage,
} from '../../src/messages/messages.ts'
import { type HistoryProblem, isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { rejection } from '../engine/watching.ts'
import { wires } from '../hostile/hostileRun.ts'
import { traps } from './hostileTool.ts'
import { expectNothingUnhandled } from './interrupting.ts'
import { loopServer } from './toolLoop.ts'

/** Input that is wrong is refused with a clear error, and no provider gets it. */
expectNothingUnhandled()

const call = (id: string): Part => ({ type: 'toolCall', id, name: 'f', arguments: {} })
const result = (id: string): Part => ({ type: 'toolResult', id, name: 'f', result: 'r' })
const hi = userMessage('hi')

/** A history for everything that can be wrong with one, and where it is wrong. */
const wrong = {
  malformed: { history: [hi, { role: 'assistant', parts: [] } as never], index: 1 },
  misplacedSystem: { history: [hi, modelMessage('yes?'), systemMessage('Be brief.')], index: 2 },
  notAlternating: { history: [hi, hi], index: 1 },
  emptyId: { history: [hi, modelMessage([call('')])], index: 1 },
  duplicateCall: {
    history: [hi, modelMessage([call('a'), call('a')]), userMessage([result('a')])],
    index: 1,
  },
  missingResult: { history: [hi, modelMessage([call('a')]), userMessage('well?')], index: 1 },
  orphanResult: { history: [hi, modelMessage('no calls'), userMessage([result('a')])], index: 2 },
  duplicateResult: {
    history: [hi, modelMessage([call('a')]), userMessage([result('a'), result('a')])],
    index: 2,
  },
  misplacedPart: { history: [userMessage([call('a')])], index: 0 },
} satisfies Record<HistoryProblem['code'], { history: ChatMessage[]; index: number }>

const codes = Object.entries(wrong).map(([code, each]) => ({ code, ...each }))
const isTolerated = ({ history }: { history: ChatMessage[] }) =>
  validateHistory(history).every((problem) => !isFatal(problem))

describe('a history with the problem', () => {
  test.each(codes)('$code is reported by validateHistory', ({ code, history, index }) => {
    expect(validateHistory(history)).toContainEqual({ code, index, message: expect.any(String) })
  })

  test.each(codes.filter((each) => !isTolerated(each)))(
    '$code is refused, with its place, and nothing is asked',
    async ({ code, history, index }) => {
      const [problem] = validateHistory(history)
      for (const wire of wires) {
        const server = await loopServer(wire)
        const agent = new Agent(wire.model, { baseUrl: server.url, apiKey: 'k' })
        const error = await rejection(agent.send('And now?', { history }), ConfigurationError)
        // What is not a message at all is found before the history is read.
        const place = code === 'malformed' ? `history[${index}] is not a message.` : `message ${index}:`
        expect(error.message).toContain(`${place} ${problem?.message}`)
        expect(server.requests).toEqual([])
      }
    },
  )

  test.each(codes.filter(isTolerated))('$code is mended for every provider', async ({ history }) => {
    for (const wire of wires) {
      const server = await loopServer(wire)
      const agent = new Agent(wire.model, { baseUrl: server.url, apiKey: 'k' })
      expect((await agent.send('And now?', { history })).finishReason).toBe('stop')
      expect(server.requests).toHaveLength(1)
    }
  })
})

const circular: Record<string, unknown> = {}
circular.self = circular
const text = { type: 'text', text: 'a' }

describe('a value that is not a message', () => {
  const malformed: [string, unknown, string][] = [
    ['null', null, 'It is not a message'],
    ['a text', 'hello', 'It is not a message'],
    ['a role of another API', { role: 'tool', parts: [] }, '"tool" is not a role'],
    ['content instead of parts', { role: 'user', content: 'hi' }, 'It has no list of parts.'],
    ['a text as parts', { role: 'user', parts: 'hi' }, 'It has no list of parts.'],
    ['a text as a part', { role: 'user', parts: ['hi'] }, 'One of its parts is not an object.'],
    [
      'a part of another API',
      { role: 'user', parts: [{ type: 'image_url' }] },
      '"image_url" is not a type of part.',
    ],
    [
      'a text part without text',
      { role: 'user', parts: [{ type: 'text' }] },
      'The text of one of its text parts',
    ],
    [
      'bytes that are no base64 text',
      { role: 'user', parts: [{ type: 'data', mimeType: 'a/b', data: Buffer.from('a') }] },
      'The data of one',
    ],
    [
      'a call whose arguments are a text',
      { role: 'model', parts: [{ ...call('a'), arguments: '{}' }] },
      'The arguments of its call of "f"',
    ],
    [
      'a result that is no text',
      { role: 'user', parts: [{ ...result('a'), result: 7 }] },
      'The result of one',
    ],
    [
      'parts of a result that are not a list',
      { role: 'user', parts: [{ ...result('a'), parts: 'png' }] },
      'The parts of its result of "f" are not a list.',
    ],
    [
      'a text among the parts of a result',
      { role: 'user', parts: [{ ...result('a'), parts: [text] }] },
      'neither data nor a link',
    ],
    [
      'an image without data among the parts of a result',
      { role: 'user', parts: [{ ...result('a'), parts: [{ type: 'data', mimeType: 'image/png' }] }] },
      'The data of one of its data parts',
    ],
    ['circular metadata', { role: 'user', parts: [text], metadata: circular }, 'circular'],
    [
      'a function in its metadata',
      { role: 'user', parts: [text], metadata: { f: () => 1 } },
      'a function, which JSON cannot hold',
    ],
    [
      'a BigInt in its metadata',
      { role: 'user', parts: [text], metadata: { n: 1n } },
      'a bigint, which JSON cannot hold',
    ],
    ['a proxy full of traps', new Proxy({}, traps), 'trapped'],
  ]
  test.each(malformed)('%s, is refused in a history', async (_, message, problem) => {
    const model = scriptedModel([])
    const history = [message as ChatMessage]
    expect(validateHistory(history)).toMatchObject([
      { code: 'malformed', message: expect.stringContaining(problem) },
    ])
    const error = await rejection(new Agent(model).send('Hi', { history }), ConfigurationError)
    expect(error.message).toContain(problem)
    expect(model.requests).toEqual([])
  })

  const orchestrators: [string, AgentOptions][] = [
    ['a plain agent', {}],
    ['reasoning', { orchestrator: reasoningOrchestrator() }],
    ['reflection', { orchestrator: reflectionOrchestrator() }],
  ]
  test.each(orchestrators)('as a prompt, attachment or history, is refused by %s', async (_, options) => {
    const inputs: [unknown, object][] = [
      [undefined, {}],
      [null, {}],
      [42, {}],
      [[], {}],
      [['hi'], {}],
      [{ type: 'text', text: 'hi' }, {}],
      ['hi', { attachments: 'a.png' }],
      ['hi', { attachments: [Buffer.from('a')] }],
      ['hi', { history: 'before' }],
      ['hi', { history: { 0: hi } }],
    ]
    for (const [prompt, more] of inputs) {
      const model = scriptedModel([])
      const agent = new Agent(model, options)
      await rejection(agent.send(prompt as string, more), ConfigurationError)
      await rejection(agent.sendStream(prompt as string, more).next(), ConfigurationError)
      expect(model.requests).toEqual([])
    }
  })

  test('anything at all, is refused or answered, and breaks nothing', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), fc.anything(), async (prompt, history, attachments) => {
        const options = { history, attachments } as { history: ChatMessage[]; attachments: Part[] }
        const agent = new Agent(scriptedModel(['fine']))
        const outcome = await agent.send(prompt as string, options).catch((error: unknown) => error)
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(ConfigurationError)
        else expect(outcome).toMatchObject({ output: 'fine' })
      }),
      { numRuns: 100 },
    )
  })
})

describe('a command that holds anything', () => {
  test('is read as text or ignored, and the context stays plain JSON', async () => {
    const kinds = fc.constantFrom('abort', 'steer', 'tool.approve', 'tool.reject', 'nonsense')
    await fc.assert(
      fc.asyncProperty(kinds, fc.anything({ withBigInt: true, withMap: true }), async (type, value) => {
        const actor = new Agent(scriptedModel([[{ text: 'a' }, { hang: true }]])).actor({ prompt: 'Hi' })
        actor.subscribe({ error: () => {} })
        actor.start()
        actor.send({ type, reason: value, text: value, callId: value } as never)
        const { context, status } = actor.getSnapshot()
        expect(status).toBe(type === 'abort' ? 'done' : 'active')
        expect(JSON.parse(JSON.stringify(context))).toEqual(context)
        actor.stop()
      }),
      { numRuns: 100 },
    )
  })
})
