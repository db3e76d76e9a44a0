import { describe, expect, test } from 'vitest'
import { type ReflectionOptions, reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import {
  AbortedError,
  ConfigurationError,
  ModelError,
  OrchestrationError,
} from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { weather } from '../engine/sampleTools.ts'
import { collect, endOf, idle, rejection, watch } from '../engine/watching.ts'

const reflecting = (turns: ScriptTurn[], reflection: ReflectionOptions = {}, options: AgentOptions = {}) => {
  const model = scriptedModel(turns)
  const orchestrator = reflectionOrchestrator(reflection)
  return { model, agent: new Agent(model, { tools: [weather], ...options, orchestrator }) }
}

const outline = async (turns: ScriptTurn[], reflection: ReflectionOptions = {}) => {
  const { agent, model } = reflecting(turns, reflection)
  const { output, messages } = await agent.send('A poem.')
  model.assertDone()
  expect(validateHistory(messages)).toEqual([])
  return { output, said: messages.filter(({ role }) => role === 'model').map(textOf) }
}

describe('reflection', () => {
  test('gives the draft when the critique approves of it', async () => {
    const { output, said } = await outline(['Roses', 'APPROVED. Lovely.'])
    expect([output, said]).toEqual(['Roses', ['Roses', 'APPROVED. Lovely.']])
  })

  test('gives the revision that the critique approves of', async () => {
    expect((await outline(['Roses', 'Too short.', 'Red roses', '\n APPROVED'])).output).toBe('Red roses')
  })

  test('gives the last revision when the rounds are used up, and does not judge it any more', async () => {
    const turns = ['Roses', 'Too short.', 'Red roses', 'Still.', 'Dark red roses']
    expect((await outline(turns)).output).toBe('Dark red roses')
    expect((await outline(turns.slice(0, 3), { maxRounds: 1 })).output).toBe('Red roses')
  })

  test('only a beginning with the word is an approval', async () => {
    const turns = ['Roses', 'This cannot be APPROVED.', 'Red roses']
    expect((await outline(turns, { maxRounds: 1 })).output).toBe('Red roses')
  })

  test('has one end, though each of its runs ends without a word that is known', async () => {
    const end = { finish: 'unspecified' as const, raw: 'odd' }
    const { agent } = reflecting([
      [{ text: 'Roses' }, end],
      [{ text: 'APPROVED' }, end],
    ])
    const chunks = await collect(agent.sendStream('A poem.'))
    const isBare = ({ output, messages, metadata }: (typeof chunks)[number]) =>
      output === '' && messages.length === 0 && Object.keys(metadata).length === 0
    expect(chunks.filter(isBare)).toEqual([chunks.at(-1)])
  })

  test('has its name, for errors and inspectors', () => {
    const { agent } = reflecting([])
    expect([agent.machine.id, reflectionOrchestrator().providerHint]).toEqual(['reflection', 'reflection'])
  })

  test('may be given another rule for content', async () => {
    const isContent = (critique: string) => Number(critique) > 7
    expect((await outline(['Roses', '5', 'Red roses', '8'], { isContent })).output).toBe('Red roses')
  })

  test('may call tools for writing, not for judging, and sends them always', async () => {
    const call: ScriptTurn = [{ toolCall: { id: 'w', name: 'get_weather', arguments: { city: 'Oslo' } } }]
    const { agent, model } = reflecting([call, 'Warm.', 'More.', 'Very warm.'], { maxRounds: 1 })
    expect((await agent.send('Oslo?')).output).toBe('Very warm.')
    expect(model.requests.map(({ tools }) => tools?.length)).toEqual([1, 1, 1, 1])
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual([
      undefined,
      undefined,
      'none',
      undefined,
    ])
  })

  test('asks with its own prompts, or with those it is given', async () => {
    const { agent, model } = reflecting(['a', 'b', 'c'], { maxRounds: 1, prompts: { revision: 'Again!' } })
    await agent.send('A poem.')
    const asked = model.requests.map(({ messages }) => messages.at(-1)).map((last) => last && textOf(last))
    expect(asked).toEqual(['A poem.', expect.stringContaining('APPROVED'), 'Again!'])
  })

  test('marks its chunks with their phase and ends once, with all that was used', async () => {
    const used = (text: string): ScriptTurn => [{ text }, { usage: { outputTokens: 1 } }]
    const { agent } = reflecting(['a', 'b', 'c', 'APPROVED'].map(used))
    const chunks = await collect(agent.sendStream('A poem.'))
    const shown = chunks.filter(({ output }) => output !== '')
    expect(shown.map(({ output, metadata }) => [metadata.phase, output])).toEqual([
      ['draft', 'a'],
      ['critique', '\nb'],
      ['revision', '\nc'],
      ['critique', '\nAPPROVED'],
    ])
    expect(chunks.filter(({ finishReason }) => finishReason !== 'unspecified')).toHaveLength(1)
    expect(chunks.at(-1)).toMatchObject({ finishReason: 'stop', usage: { outputTokens: 4 } })
  })

  test('drafts and revisions have the shape that was asked for, critiques have none', async () => {
    const outputSchema = { type: 'object' }
    const { agent, model } = reflecting(['{"a":1}', 'b', '{"a":2}'], { maxRounds: 1 })
    const actor = agent.actor({ prompt: 'A poem.', outputSchema })
    actor.start()
    expect(await endOf(actor)).toMatchObject({ output: '{"a":2}' })
    const schemas = model.requests.map((request) => request.outputSchema)
    expect(schemas).toEqual([outputSchema, undefined, outputSchema])
  })

  test.each([0, -1, 1.5, Number.NaN])('cannot have %d rounds', (maxRounds) => {
    expect(() => reflectionOrchestrator({ maxRounds })).toThrow(ConfigurationError)
  })
})

describe('reflection that does not complete', () => {
  test.each([
    ['the draft', [[{ text: 'Ro' }, { error: { message: 'boom' } }]], 'Ro'],
    ['the critique', ['Roses', [{ error: { message: 'boom' } }]], 'Roses'],
    ['the revision', ['Roses', 'No.', [{ text: 'R' }, { error: { message: 'boom' } }]], 'Roses\nNo.\nR'],
  ] satisfies [string, ScriptTurn[], string][])(
    'because %s fails keeps everything so far',
    async (_, turns, text) => {
      const error = await rejection(reflecting(turns).agent.send('A poem.'), ModelError)
      expect(error.partial).toMatchObject({ output: text, finishReason: 'error' })
    },
  )

  test('because of an abort closes the request of its phase', async () => {
    const { agent, model } = reflecting(['Roses', [{ text: 'Too' }, { hang: true }]])
    const controller = new AbortController()
    const sent = rejection(agent.send('A poem.', { signal: controller.signal }), AbortedError)
    await idle(6)
    controller.abort()
    expect((await sent).partial?.output).toBe('Roses\nToo')
    expect(model.closed).toBe(1)
  })

  test('because isContent throws is an OrchestrationError that names the chart and the state', async () => {
    const isContent = () => {
      throw new RangeError('in isContent')
    }
    const error = await rejection(
      reflecting(['Roses', 'No.'], { isContent }).agent.send('A poem.'),
      OrchestrationError,
    )
    expect(error).toMatchObject({ orchestrator: 'reflection', state: expect.stringContaining('Critique') })
    expect(error.message).toContain('in isContent')
    expect(error.partial?.output).toBe('Roses\nNo.')
  })

  test('emits one end, in every case', async () => {
    const actor = reflecting(['Roses', [{ error: {} }]]).agent.actor({ prompt: 'A poem.' })
    const watched = watch(actor)
    actor.start()
    await endOf(actor)
    expect(watched.finals).toMatchObject([{ finishReason: 'error' }])
  })
})
