import { getEventListeners, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { setup } from 'xstate'
import type { RunEmitted } from '../../machines/index.ts'
import { listModels } from '../../providers/registry.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import { AbortedError, OrchestrationError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { gated } from '../engine/sampleTools.ts'
import { endOf, idle, rejection } from '../engine/watching.ts'
import { openai as wire } from '../hostile/chatWire.ts'
import { expectNothingUnhandled } from './interrupting.ts'
import { type RunServer, runServer, writeTurn } from './runServer.ts'
import { expectNothingLeft, loopServer, prompt, slowWeather, timers } from './toolLoop.ts'

/** Paused runs: whatever they wait for, an abort ends them at once and closes what they hold. */
expectNothingUnhandled()

const agentAt = ({ url }: { url: string }, options: AgentOptions = {}) =>
  new Agent(wire.model, { baseUrl: url, apiKey: 'k', retry: { maxRetries: 0 }, ...options })

/** Resolves when the server is asked for the first time. */
const asked = async ({ requests }: RunServer, times = 1): Promise<void> => {
  while (requests.length < times) await idle(1)
  await idle()
}

/** Where a server stops in the middle of an answer. */
const stalls: Record<string, (response: ServerResponse) => void> = {
  'the head of the answer': () => {},
  'the first byte of the body': (response) => response.writeHead(200).flushHeaders(),
  'the rest of the text': (response) => writeTurn(wire, { text: 'Half' }, response, () => {}),
  'the rest of an error': (response) => response.writeHead(500).write('{"err'),
  'the time to try again': (response) => {
    response.writeHead(429, { 'retry-after': '50' }).end('{}')
  },
}

describe('an abort ends a run that waits for', () => {
  test.each(Object.entries(stalls))('%s', async (_, stall) => {
    const before = timers()
    const server = await runServer(wire, () => stall)
    const { signal, ...controller } = abortable()
    const sent = rejection(agentAt(server, { retry: { maxRetries: 2 } }).send('Hi', { signal }), AbortedError)
    await asked(server)
    controller.abort()
    await sent
    await expectNothingLeft(server, signal, before)
    expect(server.requests).toHaveLength(1)
  })

  test('the handshake of a server that accepted the connection', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).resume())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { signal, abort } = abortable()
    const connected = once(server, 'connection')
    const sent = agentAt({ url: `https://127.0.0.1:${port}` }).send('Hi', { signal })
    const [socket] = await connected
    const closed = once(socket, 'close')
    abort()
    await rejection(sent, AbortedError)
    await closed
  })

  test('approvals, as an actor: they get results that say they were not run', async () => {
    const before = timers()
    const server = await loopServer(wire)
    const weather = slowWeather(true)
    const actor = agentAt(server, { tools: [{ ...weather.tool, needsApproval: true }] }).actor({ prompt })
    const waiting = new Promise((resolve) => actor.on('tool.approval', resolve))
    actor.start()
    await waiting
    // It holds nothing while it waits.
    await expectNothingLeft(server, new AbortController().signal, before)
    actor.send({ type: 'abort' })
    expect(await endOf(actor)).toMatchObject({ status: 'aborted' })
  })

  test('a person who answers after all', async () => {
    const server = await loopServer(wire)
    const { signal, abort } = abortable()
    let answer = (_: boolean) => {}
    const weather = slowWeather(true)
    const agent = agentAt(server, {
      tools: [{ ...weather.tool, needsApproval: true }],
      onApproval: () => new Promise<boolean>((resolve) => (answer = resolve)),
    })
    const sent = rejection(agent.send(prompt, { signal }), AbortedError)
    await asked(server)
    abort()
    await sent
    answer(true)
    await idle()
    expect(server.requests).toHaveLength(1)
  })
})

describe('an abort ends a request without a run', () => {
  const retrying = { retry: { maxRetries: 2 } }
  const requests: Record<string, (url: string, signal: AbortSignal) => Promise<unknown>> = {
    embedQuery: (url, signal) => agentAt({ url }, retrying).embedQuery('a', { signal }),
    embedDocuments: (url, signal) => agentAt({ url }, retrying).embedDocuments(['a', 'b'], { signal }),
    listModels: (baseUrl, signal) => listModels('openai', { baseUrl, apiKey: 'k', signal }),
  }
  test.each(Object.entries(requests))('%s, while it waits', async (_, request) => {
    const before = timers()
    for (const stall of Object.values(stalls)) {
      const server = await runServer(wire, () => stall)
      const { signal, abort } = abortable()
      const sent = rejection(request(server.url, signal), AbortedError)
      await asked(server)
      abort()
      await sent
      await expectNothingLeft(server, signal, before)
    }
  })
})

describe('a chat whose sends wait for each other', () => {
  const hanging = () => scriptedModel([[{ text: 'a' }, { hang: true }], 'second'])

  test('gives up a send that is aborted in the queue, and no other', async () => {
    const slow = gated()
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'slow' } }], 'first', 'third'])
    const chat = new Chat(new Agent(model, { tools: [slow.tool] }), { whenBusy: 'queue' })
    const { signal, abort } = abortable()
    const first = chat.send('1')
    const second = rejection(chat.send('2', { signal }), AbortedError)
    const third = chat.send('3')
    await idle()
    abort()
    await second
    chat.steer('and this')
    slow.release('a')
    expect((await first).output).toContain('first')
    expect((await third).output).toContain('third')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('stops a stream that is left while it waits for a chunk', async () => {
    const model = hanging()
    const chat = new Chat(new Agent(model))
    const stream = chat.sendStream('Go')
    await stream.next()
    await stream.next()
    const waiting = stream.next()
    await stream.return?.()
    expect(await waiting).toEqual({ value: undefined, done: true })
    expect(model.closed).toBe(1)
    expect(chat.history).toEqual([])
    expect((await chat.send('again')).output).toBe('second')
  })
})

describe('one signal for many', () => {
  test('a hundred sends and embeddings share one listener on it, and all end with it', async () => {
    const server = await runServer(wire, () => () => {})
    const { signal, abort } = abortable()
    const agent = agentAt(server)
    const sent = Array.from({ length: 100 }, (_, nth) =>
      rejection(nth % 2 ? agent.send('Hi', { signal }) : agent.embedQuery('Hi', { signal }), AbortedError),
    )
    await asked(server, 100)
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    abort()
    await Promise.all(sent)
    await server.quiet()
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

describe('a machine that breaks', () => {
  const raise = () => {
    throw new Error('broken')
  }

  test('in a part that was replaced closes its request and ends with a typed error', async () => {
    const server = await runServer(
      wire,
      () => (response) => writeTurn(wire, { text: 'ab' }, response, () => {}),
    )
    const agent = agentAt(server, {
      orchestrator: {
        providerHint: 'broken',
        create: ({ lifecycle }) => lifecycle().provide({ actions: { receive: raise } }),
      },
    })
    await rejection(agent.send('Hi'), OrchestrationError)
    expect(server.requests).toHaveLength(1)
    await server.quiet()
  })

  const isText = ({ emitted }: RunEmitted) =>
    emitted.some((each) => each.type === 'chunk' && each.output !== '')

  test('above a run that goes on closes that as well', async () => {
    const server = await runServer(
      wire,
      () => (response) => writeTurn(wire, { text: 'ab' }, response, () => {}),
    )
    const agent = agentAt(server, {
      orchestrator: {
        providerHint: 'broken',
        create: ({ lifecycle }) =>
          setup({ actors: { run: lifecycle() }, types: { events: {} as RunEmitted } }).createMachine({
            id: 'broken',
            invoke: { id: 'run', src: 'run', input: { prompt } },
            on: { 'run.emitted': { guard: ({ event }) => isText(event), actions: raise } },
          }),
      },
    })
    await rejection(agent.send('Hi'), OrchestrationError)
    expect(server.requests).toHaveLength(1)
    await server.quiet()
  })
})

const abortable = () => {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}
