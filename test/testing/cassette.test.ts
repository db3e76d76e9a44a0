import { existsSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Agent, type AgentOptions, ConfigurationError, type JsonObject } from '../../src/index.ts'
import { type Simulator, startSimulator } from '../../src/simulator/index.ts'
import { type Cassette, type CassetteOptions, cassette } from '../../src/testing/index.ts'
import { weatherTool } from '../aimock/mockServer.ts'
import { loopback } from '../loopback.ts'
import { exchangesOn, noNetwork, tapePath, textOfTape } from './tapePath.ts'

beforeEach(() => {
  vi.stubEnv('CI', undefined)
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const simulator = async (delayMs = 0): Promise<Simulator> => {
  const server = await startSimulator({ delayMs })
  onTestFinished(() => server.close())
  return server
}

const key = 'a-key-that-stays-hidden'

/** Records what `ask` does with the simulator, and stops it. */
const recordedWith = async (
  ask: (agent: Agent) => Promise<unknown>,
  options: CassetteOptions & { delayMs?: number; provider?: string } = {},
): Promise<string> => {
  const { delayMs, provider = 'openai:simulator', ...own } = options
  const { baseUrl, close } = await startSimulator({ delayMs: delayMs ?? 0 })
  const path = tapePath()
  const tape = cassette(path, { mode: 'record', ...own })
  await ask(
    new Agent(provider, {
      baseUrl,
      apiKey: key,
      connection: { fetch: tape },
      tools: [weatherTool().weather],
    }),
  )
  await tape.done()
  await close()
  return path
}

const replaying = (fetch: Cassette, options: AgentOptions = {}): Agent =>
  new Agent('openai:simulator', {
    baseUrl: 'http://127.0.0.1:1/v1',
    connection: { fetch },
    tools: [weatherTool().weather],
    ...options,
  })

const failureOf = async (run: Promise<unknown>): Promise<ConfigurationError> => {
  const thrown: unknown = await run.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(ConfigurationError)
  return thrown as ConfigurationError
}

describe('a replay', () => {
  test.each(['openai-chat:simulator', 'openai-responses:simulator', 'anthropic:simulator'])(
    'has the same chunks at the same reads: %s',
    async (provider) => {
      const chunks = async (agent: Agent): Promise<string[]> => {
        const outputs: string[] = []
        for await (const { output } of agent.sendStream('What is the weather in Oslo?')) outputs.push(output)
        return outputs
      }
      let live: string[] = []
      const path = await recordedWith(
        async (agent) => {
          live = await chunks(agent)
        },
        { provider, delayMs: 2 },
      )
      expect(live.length).toBeGreaterThan(8)
      noNetwork()
      const agent = new Agent(provider, {
        baseUrl: 'http://127.0.0.1:1/v1',
        connection: { fetch: cassette(path) },
        tools: [weatherTool().weather],
      })
      expect(await chunks(agent)).toEqual(live)
    },
  )

  test('takes as long as the recording at speed 1, half of it at 2, and no time at 0', async () => {
    const path = await recordedWith((agent) => agent.send('Hello'), { delayMs: 20 })
    const [exchange] = exchangesOn(path)
    const recordedMs = exchange?.end.ms ?? 0
    expect(recordedMs).toBeGreaterThan(100)
    // The time moves only where nothing else is left to do.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const timeAt = async (speed: number): Promise<number> => {
      const startedAt = performance.now()
      let isOver = false
      const answer = replaying(cassette(path, { speed })).send('Hello')
      const whenOver = answer.finally(() => {
        isOver = true
      })
      while (!isOver) {
        for (let turn = 0; turn < 50 && !isOver; turn += 1) await nextTurn()
        if (!isOver) vi.advanceTimersByTime(1)
      }
      await whenOver
      return performance.now() - startedAt
    }
    const [withoutPauses, asRecorded, twice] = [await timeAt(0), await timeAt(1), await timeAt(2)]
    expect(asRecorded).toBeGreaterThan(recordedMs * 0.8)
    expect(twice).toBeGreaterThan(recordedMs * 0.4)
    expect(twice).toBeLessThan(asRecorded)
    expect(withoutPauses).toBeLessThan(recordedMs * 0.5)
  })

  test('needs no key, and calls no function for one', async () => {
    // The provider's own host, behind which the simulator is: only there a key must be given.
    const { baseUrl } = await simulator()
    const { fetch } = globalThis
    vi.stubGlobal('fetch', (url: string, init: RequestInit) =>
      fetch(url.replace('https://api.openai.com/v1', baseUrl.replace(/\/$/, '')), init),
    )
    const path = tapePath()
    vi.stubEnv('OPENAI_API_KEY', key)
    const recording = cassette(path)
    const { output } = await new Agent('openai-chat:simulator', { connection: { fetch: recording } }).send(
      'Hello',
    )
    await recording.done()
    vi.stubEnv('OPENAI_API_KEY', undefined)
    noNetwork()

    await expect(new Agent('openai-chat:simulator').send('Hello')).rejects.toThrow('OPENAI_API_KEY')
    const replayed = await new Agent('openai-chat:simulator', { connection: { fetch: cassette(path) } }).send(
      'Hello',
    )
    expect(replayed.output).toBe(output)
    const apiKey = vi.fn(() => key)
    await new Agent('openai-chat:simulator', { connection: { fetch: cassette(path) }, apiKey }).send('Hello')
    expect(apiKey).not.toHaveBeenCalled()
  })

  test('finds answers by what is asked, in any order', async () => {
    const path = await recordedWith((agent) =>
      Promise.all(['Hello', '2 + 3', '7 * 6'].map((each) => agent.send(each))),
    )
    noNetwork()
    const tape = cassette(path)
    const agent = replaying(tape)
    const outputs = await Promise.all(
      ['7 * 6', 'Hello', '2 + 3'].map(async (each) => (await agent.send(each)).output),
    )
    expect(outputs[0]).toContain('“7 * 6”')
    expect(outputs[2]).toContain('“2 + 3”')
    await tape.done()
  })

  test('gives the same request its answers one after the other', async () => {
    const server = await loopback((_, nth) => ({ body: chatAnswer(`Answer ${nth + 1}`) }))
    const path = tapePath()
    const ask = async (fetch: Cassette) => {
      const agent = new Agent('openai:m', { baseUrl: server.url, connection: { fetch } })
      const outputs = [(await agent.send('Hi')).output, (await agent.send('Hi')).output]
      await fetch.done()
      return outputs
    }
    expect(await ask(cassette(path))).toEqual(['Answer 1', 'Answer 2'])
    noNetwork()
    expect(await ask(cassette(path))).toEqual(['Answer 1', 'Answer 2'])
    const third = cassette(path)
    await ask(third)
    const error = await failureOf(
      new Agent('openai:m', { baseUrl: server.url, connection: { fetch: third } }).send('Hi'),
    )
    expect(error.message).toContain('All 2 recorded answers were already used.')
  })

  test('recognises the ids that are new in every run', async () => {
    // A server that gives its calls no ids: they go back with those that are made here.
    const call = { index: 0, function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } }
    const server = await loopback((_, nth) => ({
      body: nth === 0 ? chatAnswer('', { tool_calls: [call] }) : chatAnswer('Warm.'),
    }))
    const path = tapePath()
    const ask = (fetch: Cassette) =>
      new Agent('openai:m', {
        baseUrl: server.url,
        connection: { fetch },
        tools: [weatherTool().weather],
      }).send('Weather?')
    const recording = cassette(path)
    await ask(recording)
    await recording.done()
    expect(JSON.stringify(exchangesOn(path)[1]?.request.body).match(/<id 1>/g)).toHaveLength(2)
    expect((await ask(cassette(path))).output).toBe('Warm.')
  })
})

const chatAnswer = (content: string, more: JsonObject = {}): string => {
  const finish = 'tool_calls' in more ? 'tool_calls' : 'stop'
  const events = [
    { id: 'c1', choices: [{ index: 0, delta: { role: 'assistant', content, ...more } }] },
    { id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: finish }] },
  ]
  return `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`
}

describe('a request that is not on the tape', () => {
  test('is an error that shows the difference, at once and without a retry', async () => {
    const path = await recordedWith((agent) => agent.send('What is the weather in Oslo?'))
    noNetwork()
    const retries = vi.fn()
    const run = replaying(cassette(path), { temperature: 0.5 }).start('What is the weather in Rome?')
    run.on('retry', retries)
    const { message } = await failureOf(run.result)
    expect(message).toContain(`${path} has no answer for POST /v1/chat/completions`)
    expect(message).toContain('The nearest recording, 1 of 2, differs:')
    expect(message).toMatch(
      /content: recorded "What is the weather in Oslo\?", now "What is the weather in Rome\?"/,
    )
    expect(message).toContain('temperature: recorded nothing, now 0.5')
    expect(message).toContain("set mode to 'record'")
    expect(retries).not.toHaveBeenCalled()
  })

  test('names the places that were recorded where it goes to another one', async () => {
    const path = await recordedWith((agent) => agent.send('Hello'))
    const other = new Agent('anthropic:simulator', {
      baseUrl: 'http://127.0.0.1:1/v1',
      connection: { fetch: cassette(path) },
    })
    const { message } = await failureOf(other.send('Hello'))
    expect(message).toContain('no answer for POST /v1/messages. It has some for POST /v1/chat/completions.')
  })

  test('does not use the tape up', async () => {
    const path = await recordedWith((agent) => agent.send('Hello'))
    const tape = cassette(path)
    await failureOf(replaying(tape).send('Good bye'))
    await expect(tape.done()).rejects.toThrow(
      '1 of 1 recorded answers were not asked for: POST /v1/chat/completions.',
    )
    await replaying(tape).send('Hello')
    await tape.done()
  })

  test('is scrubbed before it is compared, and before it is kept', async () => {
    const scrub = (body: JsonObject) => ({
      ...body,
      messages: JSON.parse(JSON.stringify(body.messages).replace(/\d+:\d+/g, 'TIME')),
    })
    const path = await recordedWith((agent) => agent.send('Hello, it is 10:45'), { scrub })
    expect(textOfTape(path)).toContain('Hello, it is TIME')
    await replaying(cassette(path, { scrub })).send('Hello, it is 22:01')
    await failureOf(replaying(cassette(path)).send('Hello, it is 22:01'))
    const nothing = cassette(path, { scrub: (() => undefined) as never })
    expect((await failureOf(replaying(nothing).send('Hello'))).message).toContain('must return the body')
  })
})

describe('the mode', () => {
  test('auto records what is not there, and replays what is', async () => {
    const { baseUrl } = await simulator()
    const path = tapePath()
    const ask = async (fetch: Cassette) => {
      const { output } = await new Agent('openai:simulator', { baseUrl, connection: { fetch } }).send('Hello')
      await fetch.done()
      return output
    }
    const first = cassette(path)
    expect(first.isReplay).toBe(false)
    const output = await ask(first)
    expect(readdirSync(dirname(path))).toEqual(['test.json'])
    noNetwork()
    const second = cassette(path)
    expect(second.isReplay).toBe(true)
    expect(await ask(second)).toBe(output)
  })

  test('auto never records in CI, and record does', async () => {
    const path = tapePath()
    vi.stubEnv('CI', 'true')
    expect(() => cassette(path)).toThrow(/There is no tape at .*CI is set/)
    expect(cassette(path, { mode: 'record' }).isReplay).toBe(false)
    vi.stubEnv('CI', 'false')
    expect(cassette(path).isReplay).toBe(false)
  })

  test('replay does not go without a tape, and makes none', () => {
    const path = tapePath()
    expect(() => cassette(path, { mode: 'replay' })).toThrow(ConfigurationError)
    expect(existsSync(path)).toBe(false)
  })

  test('record overwrites the tape', async () => {
    const { baseUrl } = await simulator()
    const path = tapePath()
    for (const prompt of ['Hello', 'Good bye']) {
      const tape = cassette(path, { mode: 'record' })
      await new Agent('openai:simulator', { baseUrl, connection: { fetch: tape } }).send(prompt)
      await tape.done()
    }
    expect(exchangesOn(path)).toHaveLength(1)
    expect(textOfTape(path)).not.toContain('Hello')
  })
})

describe('what cannot work', () => {
  test.each([
    [{ mode: 'rewind' }, /mode must be 'auto', 'record' or 'replay'/],
    [{ speed: -1 }, /speed must be a finite number/],
    [{ scrub: 'no' }, /scrub must be a function/],
  ])('is refused: %j', (options, problem) => {
    expect(() => cassette(tapePath(), options as CassetteOptions)).toThrow(problem)
  })

  test.each([
    ['{', /is not valid JSON/],
    ['[]', /must be an object/],
    ['{"cassette":2,"exchanges":[]}', /cassette must be 1/],
    ['{"cassette":1,"exchanges":{}}', /exchanges must be a list/],
    ['{"cassette":1,"exchanges":[{}]}', /exchanges\[0\]\.request must be an object/],
    [tapeWith({ head: { ms: 1, status: 99, statusText: '', headers: {} } }), /status from 200 to 599/],
    [tapeWith({ head: { ms: 1, status: 200, statusText: '', headers: { a: 1 } } }), /object of strings/],
    [tapeWith({ reads: [{ ms: 0 }] }), /reads\[0\]\.text must be a string/],
    [tapeWith({ end: { ms: 0, how: 'broken' } }), /end\.code must be a string/],
  ])('is refused as a tape: %s', (json, problem) => {
    const path = tapePath()
    mkdirSync(dirname(path))
    writeFileSync(path, json)
    expect(() => cassette(path)).toThrow(ConfigurationError)
    expect(() => cassette(path)).toThrow(problem)
  })

  test('is refused as a path', () => {
    expect(() => cassette('')).toThrow('must be a path')
  })

  test('is refused where it is too large, on disk and on its way there', async () => {
    const size = 65 * 1024 * 1024
    const path = tapePath()
    mkdirSync(dirname(path))
    writeFileSync(path, '')
    truncateSync(path, size)
    expect(() => cassette(path)).toThrow(`has ${size} bytes`)

    const server = await loopback(() => ({ body: new Uint8Array(size) }))
    const tape = cassette(path, { mode: 'record' })
    const answer = await tape(server.url)
    await expect(answer.arrayBuffer()).rejects.toThrow('An answer is larger than')
    await expect(tape.done()).rejects.toThrow(ConfigurationError)
  })

  test('fails where the tape cannot be written', async () => {
    const { baseUrl } = await simulator()
    const path = tapePath()
    writeFileSync(dirname(path), 'a file where the folder should be')
    const tape = cassette(path, { mode: 'record' })
    const agent = new Agent('openai:simulator', { baseUrl, connection: { fetch: tape } })
    await agent.send('Hello').catch(() => {})
    expect((await failureOf(tape.done())).message).toContain('cannot be written')
    expect((await failureOf(agent.send('Hello'))).message).toContain('cannot be written')
  })

  test('done() does not wait for an answer that is not read', async () => {
    const { baseUrl } = await simulator()
    const tape = cassette(tapePath())
    const response = await tape(`${baseUrl}/models`)
    expect((await failureOf(tape.done())).message).toContain('1 answers are still being read')
    await response.text()
    await tape.done()
  })
})

function tapeWith(changed: object): string {
  const request = { method: 'POST', path: '/', body: null }
  const exchange = { request, reads: [], end: { ms: 0, how: 'complete' }, ...changed }
  return JSON.stringify({ cassette: 1, exchanges: [exchange] })
}

test('a tape is JSON with one read on each line', async () => {
  const path = await recordedWith((agent) => agent.send('Hello'), { delayMs: 2 })
  const text = textOfTape(path)
  const [exchange] = exchangesOn(path)
  const lines = text.split('\n')
  expect(lines.filter((line) => /^ {8}\{"ms":\d+,"text":".*"\},?$/.test(line))).toHaveLength(
    exchange?.reads.length ?? 0,
  )
  expect(lines).toContain('        "path": "/v1/chat/completions",')
  expect(text).toMatch(/\n {10}"model": "simulator",\n/)
})

test('any client that takes a fetch can use it', async () => {
  const { default: OpenAI } = await import('openai')
  const { baseUrl, close } = await startSimulator({ delayMs: 0 })
  const path = tapePath()
  const ask = async (fetch: Cassette) => {
    const client = new OpenAI({ baseURL: baseUrl, apiKey: key, fetch, maxRetries: 0 })
    const messages = [{ role: 'user' as const, content: 'Hello' }]
    const answer = await client.chat.completions.create({ model: 'simulator', messages })
    return answer.choices[0]?.message.content
  }
  const recording = cassette(path)
  const said = await ask(recording)
  await recording.done()
  await close()
  expect(said).toBeTruthy()
  expect(await ask(cassette(path))).toBe(said)
})
