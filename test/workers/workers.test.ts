import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ChatResult } from '../../src/index.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'
import { missingRuntime, Workerd } from './workerd.ts'

// The library in a worker runtime, without anything of Node's: it streams, runs tools, and gives typed answers.

if (missingRuntime) console.warn(`The tests in a worker runtime are skipped: ${missingRuntime}`)

describe.skipIf(missingRuntime)('in workerd', () => {
  let worker: Workerd
  let simulator: Simulator
  beforeAll(async () => {
    simulator = await startSimulator({ delayMs: 5 })
    worker = await Workerd.serve('test/workers/worker.ts')
  }, 180_000)
  afterAll(async () => {
    await worker?.stop()
    await simulator?.close()
  })

  const ask = (prompt: string, more: object = {}, signal?: AbortSignal): Promise<Response> =>
    fetch(worker.url, {
      method: 'POST',
      body: JSON.stringify({ baseUrl: simulator.baseUrl, prompt, ...more }),
      ...(signal && { signal }),
    })

  test('an answer streams in pieces, with a tool round in between', async () => {
    const response = await ask('What is the weather in Oslo?')
    const chunks = (await response.text())
      .trim()
      .split('\n')
      .map((line): ChatResult => JSON.parse(line))
    expect(chunks.map(({ output }) => output).join('')).toContain('21')
    expect(chunks.filter(({ output }) => output !== '').length).toBeGreaterThan(3)
    const roles = chunks.flatMap(({ messages }) => messages).map(({ role }) => role)
    expect(roles).toEqual(['user', 'model', 'user', 'model'])
    expect(chunks.at(-1)?.finishReason).toBe('stop')
  })

  test('a typed answer is validated', async () => {
    const response = await ask('Where is Oslo?', { isTyped: true })
    const { output } = (await response.json()) as ChatResult<{ city: string; country: string }>
    expect(output).toEqual({ city: expect.any(String), country: expect.any(String) })
  })

  test('a provider that is not there is a typed error', async () => {
    const response = await ask('Hi', { isTyped: true, baseUrl: 'http://127.0.0.1:1/v1' })
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ name: 'ModelError' })
  })

  test('nothing was complained about', () => {
    expect(worker.errors).not.toMatch(/error|uncaught/i)
  })
})
