import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { chatProfile, defineProvider, openaiChat, openaiEmbeddings } from '../../providers/index.ts'
import { Agent, listModels, registerProvider, tool } from '../../src/index.ts'
import { loopback } from '../loopback.ts'
import { helloFrom } from './helloAnswers.ts'
import { telegraph, telegraphProfile } from './ownProtocol.ts'

// Your own provider is ten lines where it speaks a known protocol, and a page where it has its own protocol.

beforeEach(() => {
  vi.stubEnv('ACME_API_KEY', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

test('one that speaks a known protocol is ten lines, with embeddings and a list of models', async () => {
  const { url, requests } = await loopback(({ method, path }) => {
    if (method === 'GET') return { body: { data: [{ id: 'acme-large' }] } }
    return path === '/embeddings'
      ? { body: { data: [{ index: 0, embedding: [1, 2] }] } }
      : { body: helloFrom('acme') }
  })
  registerProvider(
    'acme',
    defineProvider({
      name: 'acme',
      protocol: openaiChat,
      baseUrl: url,
      keyVariable: 'ACME_API_KEY',
      headers: { 'x-acme-version': '7' },
      defaultModel: 'acme-large',
      profile: () => ({ ...chatProfile, thinkingControl: 'enable_thinking' }),
      embeddings: { protocol: openaiEmbeddings, defaultModel: 'acme-vectors' },
      models: { path: '/models' },
    }),
  )
  vi.stubEnv('ACME_API_KEY', 'k')
  const agent = new Agent('acme', { thinking: true, maxOutputTokens: 9 })
  expect((await agent.send('hi')).output).toBe('hello')
  expect((await agent.embedQuery('text')).embeddings).toEqual([1, 2])
  expect(await listModels('acme')).toMatchObject([{ id: 'acme-large' }])
  expect(requests[0]?.body).toMatchObject({ model: 'acme-large', enable_thinking: true, max_tokens: 9 })
  expect(requests[1]?.body).toMatchObject({ model: 'acme-vectors' })
  for (const { headers } of requests)
    expect(headers).toMatchObject({ authorization: 'Bearer k', 'x-acme-version': '7' })
})

describe('one with a protocol of its own', () => {
  const lines = (...items: object[]): string => items.map((item) => `${JSON.stringify(item)}\n`).join('')

  const weather = tool({
    name: 'get_weather',
    description: 'Weather',
    input: z.object({ city: z.string() }),
    execute: ({ city }) => {
      if (city === 'Atlantis') throw new Error('sunk')
      return `sunny in ${city}`
    },
  })

  const agentFor = async (...answers: { status?: number; body: string }[]) => {
    const server = await loopback((_, nth) => answers[nth] ?? { body: '' })
    registerProvider(
      'telegraph',
      defineProvider({
        name: 'telegraph',
        protocol: telegraph,
        baseUrl: server.url,
        defaultModel: 'brass-1',
        profile: () => telegraphProfile,
      }),
    )
    const retry = { maxRetries: 1, initialDelayMs: 1 }
    return { ...server, agent: new Agent('telegraph', { tools: [weather], system: 'Be brief.', retry }) }
  }

  const slot = (slot: number, ref: string, city: string) => [
    { call: { slot, ref, fn: 'get_weather', args: '{"city":' } },
    { call: { slot, args: `"${city}"}` } },
  ]

  test('is less than 150 lines', () => {
    const source = readFileSync(join(import.meta.dirname, 'ownProtocol.ts'), 'utf8')
    expect(source.split('\n').length).toBeLessThan(150)
  })

  test('runs two tools at once and sends back both results', async () => {
    const { agent, requests } = await agentFor(
      {
        body: lines(
          { say: 'Let me see. ' },
          ...slot(0, 'r1', 'Oslo'),
          ...slot(1, 'r2', 'Atlantis'),
          { tokens: { in: 10, out: 5 } },
          { over: 'calls' },
        ),
      },
      {
        body: lines({ say: 'Sunny ' }, { say: 'in Oslo.' }, { tokens: { in: 20, out: 4 } }, { over: 'done' }),
      },
    )
    const { output, usage, finishReason, rawFinishReason } = await agent.send('Weather?')
    expect({ output, finishReason, rawFinishReason }).toEqual({
      output: 'Let me see. \nSunny in Oslo.',
      finishReason: 'stop',
      rawFinishReason: 'done',
    })
    expect(usage).toMatchObject({ inputTokens: 30, outputTokens: 9 })
    expect(requests[1]?.body).toMatchObject({
      model: 'brass-1',
      rules: 'Be brief.',
      functions: [{ fn: 'get_weather', takes: { type: 'object' } }],
      turns: [
        { by: 'person', items: [{ say: 'Weather?' }] },
        { by: 'machine', items: [{ say: 'Let me see. ' }, { call: { ref: 'r1' } }, { call: { ref: 'r2' } }] },
        {
          by: 'person',
          items: [
            { outcome: { ref: 'r1', value: 'sunny in Oslo', failed: false } },
            { outcome: { ref: 'r2', failed: true } },
          ],
        },
      ],
    })
  })

  test('takes over a conversation whose ids it would refuse', async () => {
    const { agent, requests } = await agentFor({ body: lines({ say: 'ok' }, { over: 'done' }) })
    await agent.send('And now?', {
      history: [
        { role: 'user', parts: [{ type: 'text', text: 'Weather?' }] },
        {
          role: 'model',
          parts: [{ type: 'toolCall', id: 'call_of_another', name: 'get_weather', arguments: {} }],
        },
        {
          role: 'user',
          parts: [{ type: 'toolResult', id: 'call_of_another', name: 'get_weather', result: 'fine' }],
        },
        { role: 'model', parts: [{ type: 'text', text: 'Fine.' }] },
      ],
    })
    const sent = JSON.stringify(requests[0]?.body)
    expect(sent).not.toContain('call_of_another')
    const refs = [...sent.matchAll(/"ref":"(\w+)"/g)].map(([, ref]) => ref)
    expect(refs).toHaveLength(2)
    expect(refs[0]).toBe(refs[1])
  })

  test('tries again after a fault that may pass, and a stream that was cut', async () => {
    const { agent, requests } = await agentFor(
      { body: lines({ fault: { text: 'Too busy.', kind: 'overloaded' } }) },
      { body: lines({ say: 'ok' }, { over: 'done' }) },
    )
    expect((await agent.send('hi')).output).toBe('ok')
    expect(requests).toHaveLength(2)
    const cut = await agentFor({ body: '' }, { body: '' })
    await expect(cut.agent.send('hi')).rejects.toMatchObject({ code: 'truncated' })
  })

  test('says its errors in its own words', async () => {
    const { agent } = await agentFor({
      status: 400,
      body: JSON.stringify({ fault: { text: 'No such model.', kind: 'unknown' } }),
    })
    await expect(agent.send('hi')).rejects.toMatchObject({
      status: 400,
      code: 'unknown',
      message: expect.stringMatching(/^No such model\. \(telegraph:/),
    })
  })
})
