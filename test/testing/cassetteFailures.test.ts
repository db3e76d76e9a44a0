import { describe, expect, test, vi } from 'vitest'
import {
  AbortedError,
  Agent,
  type AgentOptions,
  ConfigurationError,
  ModelError,
  StatewireError,
} from '../../src/index.ts'
import { startSimulator } from '../../src/simulator/index.ts'
import { type Cassette, cassette } from '../../src/testing/index.ts'
import { loopback } from '../loopback.ts'
import { pause, rawServer } from '../transport/rawServer.ts'
import { exchangesOn, noNetwork, tapePath, textOfTape } from './tapePath.ts'

// What goes wrong is recorded like everything else, and goes wrong again in the same way.

const key = 'a-key-that-stays-hidden'

const agentWith = (baseUrl: string, fetch: Cassette, options: AgentOptions = {}): Agent =>
  new Agent('openai:m', { baseUrl, apiKey: key, connection: { fetch }, retry: { maxRetries: 0 }, ...options })

const errorOf = async (run: Promise<unknown>): Promise<StatewireError> => {
  const thrown: unknown = await run.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(thrown).toBeInstanceOf(StatewireError)
  return thrown as StatewireError
}

/** The errors of a run that is recorded, and of the same run replayed. */
const bothErrors = async (baseUrl: string, path: string): Promise<[StatewireError, StatewireError]> => {
  const recording = cassette(path, { mode: 'record' })
  const recorded = await errorOf(agentWith(baseUrl, recording).send('Hi'))
  await recording.done()
  noNetwork()
  const replay = cassette(path)
  const replayed = await errorOf(agentWith(baseUrl, replay).send('Hi'))
  await replay.done()
  return [recorded, replayed]
}

const fieldsOf = (error: StatewireError) => ({
  ...error,
  message: error.message,
  cause: undefined,
  partial: undefined,
})

const piece = (content: string): string =>
  `data: {"choices":[{"index":0,"delta":{"content":"${content}"}}]}\n\n`
const ending = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'

const chunkedHead = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const chunked = (text: string | Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n`),
    Buffer.from(text),
    Buffer.from('\r\n'),
  ])

describe('a failure', () => {
  test('of the provider has the same status, words, code and id', async () => {
    const server = await loopback(() => ({
      status: 400,
      headers: { 'x-request-id': 'req_1', 'set-cookie': 'session=secret', 'x-account': 'acme' },
      body: { error: { message: 'No such model.', code: 'model_not_found' } },
    }))
    const path = tapePath()
    const [recorded, replayed] = await bothErrors(server.url, path)
    expect(recorded).toMatchObject({ status: 400, code: 'model_not_found', requestId: 'req_1' })
    expect(fieldsOf(replayed)).toEqual(fieldsOf(recorded))
    expect(exchangesOn(path)[0]?.head?.headers).toEqual({
      'content-type': 'application/json',
      'x-request-id': 'req_1',
    })
  })

  test('that passes is followed by the answer of the retry', async () => {
    const server = await loopback((_, nth) =>
      nth === 0
        ? { status: 429, headers: { 'retry-after': '0' }, body: { error: { message: 'Slow down.' } } }
        : { body: piece('Hello') + ending },
    )
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    const retry = { maxRetries: 1, initialDelayMs: 1 }
    await agentWith(server.url, recording, { retry }).send('Hi')
    await recording.done()
    expect(exchangesOn(path).map(({ head }) => head?.status)).toEqual([429, 200])
    noNetwork()
    const replay = cassette(path)
    const run = agentWith(server.url, replay, { retry }).start('Hi')
    const retries = vi.fn()
    run.on('retry', retries)
    expect((await run.result).output).toBe('Hello')
    expect(retries).toHaveBeenCalledTimes(1)
    await replay.done()
  })

  test('in the middle of a stream leaves the same partial answer', async () => {
    const server = await rawServer(({ socket }) => {
      socket.write(chunkedHead)
      socket.write(chunked(piece('Hel')))
      pause(30).then(() => socket.resetAndDestroy())
    })
    const path = tapePath()
    const [recorded, replayed] = await bothErrors(server.url, path)
    expect(exchangesOn(path)[0]?.end.how).toBe('broken')
    expect(recorded).toBeInstanceOf(ModelError)
    expect(recorded.partial?.output).toBe('Hel')
    expect(replayed.partial?.output).toBe('Hel')
    expect(fieldsOf(replayed)).toEqual(fieldsOf(recorded))
  })

  test('to connect has the same code', async () => {
    const server = await rawServer(() => {})
    await server.close()
    const [recorded, replayed] = await bothErrors(server.url, tapePath())
    expect(recorded).toMatchObject({ code: 'ECONNREFUSED', retryable: true })
    expect(fieldsOf(replayed)).toEqual(fieldsOf(recorded))
  })

  test('without a word, and a redirect, are kept as they are', async () => {
    for (const status of [500, 302]) {
      const server = await loopback(() => ({
        status,
        headers: { location: 'https://elsewhere.example/?token=1234567890' },
        body: '',
      }))
      const path = tapePath()
      const recording = cassette(path, { mode: 'record' })
      const recorded = await errorOf(agentWith(server.url, recording).send('Hi'))
      await recording.done()
      expect(recorded).toMatchObject({ status })
      expect(textOfTape(path)).not.toContain('elsewhere')
      expect(await errorOf(agentWith(server.url, cassette(path)).send('Hi'))).toMatchObject({ status })
    }
  })
})

describe('an abort', () => {
  const leaveAfter = async (agent: Agent, count: number): Promise<string[]> => {
    const outputs: string[] = []
    for await (const { output } of agent.sendStream('Hello')) {
      if (output !== '') outputs.push(output)
      if (outputs.length === count) break
    }
    return outputs
  }

  test('in the middle is recorded as far as it came, and can be made again', async () => {
    const { baseUrl, close } = await startSimulator({ delayMs: 5 })
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    const outputs = await leaveAfter(agentWith(baseUrl, recording), 3)
    await recording.done()
    await close()
    expect(exchangesOn(path)[0]?.end.how).toBe('aborted')
    noNetwork()
    expect(await leaveAfter(agentWith(baseUrl, cassette(path)), 3)).toEqual(outputs)
  })

  test('that is not made again is an error that says so', async () => {
    const { baseUrl, close } = await startSimulator({ delayMs: 5 })
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    await leaveAfter(agentWith(baseUrl, recording), 2)
    await recording.done()
    await close()
    const error = await errorOf(agentWith(baseUrl, cassette(path)).send('Hello'))
    expect(error).toBeInstanceOf(ConfigurationError)
    expect(error.message).toMatch(/ends after \d+ reads: the request was aborted there/)
  })

  test('before the answer began is recorded, too, and a replay waits for it', async () => {
    const server = await rawServer(() => {})
    const path = tapePath()
    const abortedRun = async (tape: Cassette, underWay: () => Promise<void>) => {
      const run = agentWith(server.url, tape).start('Hi')
      await underWay()
      run.abort()
      expect(await errorOf(run.result)).toBeInstanceOf(AbortedError)
      await tape.done()
    }
    await abortedRun(cassette(path, { mode: 'record' }), () =>
      expect.poll(() => server.requests.length).toBe(1),
    )
    expect(exchangesOn(path)).toMatchObject([{ reads: [], end: { how: 'aborted' } }])
    expect(exchangesOn(path)[0]).not.toHaveProperty('head')
    noNetwork()
    // The request is on its way once nothing else is left to do.
    await abortedRun(cassette(path), async () => {
      for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    })
  })

  test('of a slow replay ends it at once', async () => {
    const { baseUrl, close } = await startSimulator({ delayMs: 30 })
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    await agentWith(baseUrl, recording).send('Hello')
    await recording.done()
    await close()
    await leaveAfter(agentWith(baseUrl, cassette(path, { speed: 0.2 })), 1)
    const signal = AbortSignal.timeout(50)
    const request = { method: 'POST', body: JSON.stringify(exchangesOn(path)[0]?.request.body), signal }
    const tape = cassette(path, { speed: 0.000_01 })
    await expect(tape(`${baseUrl}/chat/completions`, request)).rejects.toMatchObject({ name: 'TimeoutError' })
  })
})

describe('a secret', () => {
  const answering = (...reads: (string | Buffer)[]) =>
    rawServer(({ socket }) => {
      socket.write(chunkedHead)
      const parts = [...reads.map(chunked), '0\r\n\r\n']
      const next = (): void => {
        const part = parts.shift()
        if (part === undefined) return
        socket.write(part)
        pause(20).then(next)
      }
      next()
    })

  const tapeOf = async (server: { url: string }, prompt = 'Hi'): Promise<string> => {
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    await agentWith(server.url, recording).send(prompt)
    await recording.done()
    return path
  }

  test('in an error is not on the tape', async () => {
    const server = await loopback(({ headers }) => ({
      status: 401,
      body: { error: { message: `Wrong key: ${headers.authorization}` } },
    }))
    const path = tapePath()
    await bothErrors(server.url, path)
    expect(textOfTape(path)).not.toContain(key)
    expect(textOfTape(path)).toContain('Wrong key: ')
  })

  test('in a prompt is not on the tape, and the request is found again with another key', async () => {
    const server = await answering(piece('Hello'), ending)
    const path = await tapeOf(server, `My key is ${key}, and yours?`)
    expect(textOfTape(path)).not.toContain(key)
    const agent = new Agent('openai:m', { baseUrl: server.url, connection: { fetch: cassette(path) } })
    expect((await agent.send(`My key is ${key}, and yours?`)).output).toBe('Hello')
    const other = new Agent('openai:m', { baseUrl: server.url, connection: { fetch: cassette(path) } })
    await expect(other.send(`My key is ${key}, or yours?`)).rejects.toBeInstanceOf(ConfigurationError)
  })

  test('in one read leaves the other reads as they are', async () => {
    const server = await answering(
      piece('a'),
      piece(`${key}, Bearer of-another-person\\" and sk-abcdefghijklmnopqrstuvwx`),
      piece('b'),
      ending,
    )
    const path = await tapeOf(server)
    expect(exchangesOn(path)[0]?.reads).toHaveLength(4)
    expect(textOfTape(path)).not.toMatch(new RegExp(`${key}|sk-abc|another-person`))
    // What was taken out left the JSON around it whole.
    const { output } = await agentWith(server.url, cassette(path)).send('Hi')
    expect(output).toBe('a***, Bearer ***" and ***b')
  })

  test('that lies across two reads is found all the same', async () => {
    const whole = piece(`The key is ${key}.`)
    const middle = whole.indexOf(key) + 9
    const server = await answering(whole.slice(0, middle), whole.slice(middle), ending)
    const path = await tapeOf(server)
    expect(textOfTape(path)).not.toContain(key.slice(9))
    expect(exchangesOn(path)[0]?.reads).toHaveLength(1)
    expect((await agentWith(server.url, cassette(path)).send('Hi')).output).toBe('The key is ***.')
  })

  test('is not hidden where it is only a word for a local server', async () => {
    const server = await answering(piece('I am ollama.'), ending)
    const path = tapePath()
    const recording = cassette(path, { mode: 'record' })
    await new Agent('openai:m', {
      baseUrl: server.url,
      apiKey: 'ollama',
      connection: { fetch: recording },
    }).send('Hi')
    await recording.done()
    expect((await agentWith(server.url, cassette(path)).send('Hi')).output).toBe('I am ollama.')
  })

  test('in frames that cannot be changed keeps the answer off the tape', async () => {
    const server = await answering(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`${key} `)]))
    const path = tapePath()
    const tape = cassette(path, { mode: 'record' })
    const response = await tape(server.url, { headers: { authorization: `Bearer ${key}` } })
    await expect(response.arrayBuffer()).rejects.toThrow('repeats the key')
    await expect(tape.done()).rejects.toThrow('repeats the key')
  })
})

test('a read that ends inside of a character is replayed byte for byte', async () => {
  const bytes = Buffer.from(piece('🌞') + ending)
  const cut = bytes.indexOf(0xf0) + 2
  const server = await rawServer(({ socket }) => {
    socket.write(Buffer.concat([Buffer.from(chunkedHead), chunked(bytes.subarray(0, cut))]))
    pause(20).then(() =>
      socket.write(Buffer.concat([chunked(bytes.subarray(cut)), Buffer.from('0\r\n\r\n')])),
    )
  })
  const path = tapePath()
  const recording = cassette(path, { mode: 'record' })
  await agentWith(server.url, recording).send('Hi')
  await recording.done()
  expect(exchangesOn(path)[0]?.reads.map((read) => 'base64' in read)).toEqual([true, true])
  expect((await agentWith(server.url, cassette(path)).send('Hi')).output).toBe('🌞')
})
