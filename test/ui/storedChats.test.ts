/** Chats on stored runs: the events of a turn, the commands of a decision, and the place of a question. */
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { AgentCommand } from '../../machines/agent/events.ts'
import { Agent } from '../../src/agent/Agent.ts'
import type { StoredRuns } from '../../src/durable/index.ts'
import { ConfigurationError } from '../../src/messages/errors.ts'
import { textOf } from '../../src/messages/messages.ts'
import type { PendingCall } from '../../src/messages/result.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { StoredChats } from '../../src/ui/StoredChats.ts'
import type { Decisions, Question, Turn, TurnEvent } from '../../src/ui/turn.ts'
import { opened, storeFile } from '../durable/storeFile.ts'

const seen: unknown[] = []
const look = tool({
  name: 'look',
  description: 'Looks',
  execute: (_, { context }) => {
    seen.push(context)
    return 'seen'
  },
})
const send = tool({ name: 'send', description: 'Sends', needsApproval: true, execute: () => 'sent' })
const place = tool({ name: 'get_place', description: 'Where the user is' })

const scene = async (turns: ScriptTurn[]) => {
  const agent = new Agent(scriptedModel(turns), { tools: [look, send, place] })
  const runs = await opened(storeFile(), { assistant: agent })
  return { runs, chats: new StoredChats(runs, undefined) }
}
const question = (text: string, over: Partial<Question> = {}): Question => ({
  prompt: [{ type: 'text', text }],
  history: [],
  asked: [],
  intent: 'new',
  ...over,
})
const eventsOf = async (turn: Turn): Promise<TurnEvent[]> => {
  const events: TurnEvent[] = []
  const { signal } = new AbortController()
  await turn.follow({ onEvent: (event) => void events.push(event), ready: async () => {}, signal })
  return events
}
const ask = async (chats: StoredChats, text: string, over: Partial<Question> = {}) =>
  eventsOf(await chats.ask('chat-1', question(text, over), { context: undefined }))
const textsIn = async (runs: StoredRuns) => (await (await runs.chat('chat-1')).history()).map(textOf)
const refused = (status: number, message: string) =>
  expect.objectContaining({ status, message: expect.stringContaining(message) })
/** Records the commands that are sent to the runs, which a test may answer itself. */
const commandsTo = (runs: StoredRuns, answer?: () => Promise<void>) => {
  const commands: AgentCommand[] = []
  const pass = runs.send.bind(runs)
  runs.send = async (id, command) => {
    commands.push(command)
    if (!answer) return pass(id, command)
    await answer()
    return 'delivered'
  }
  return commands
}

test('decisions that come together restore the run once', async () => {
  const calls: ScriptTurn = Array.from({ length: 20 }, (_, index) => ({
    toolCall: { id: `c${index}`, name: 'send' },
  }))
  const assistant = new Agent(scriptedModel([calls, 'Done.']), { tools: [send] })
  let restored = 0
  const context = () => {
    restored += 1
  }
  const chats = new StoredChats(await opened(storeFile(), { assistant }, { context }), undefined)
  await ask(chats, 'Send all')
  restored = 0
  // Time does not pass: on a slow machine, twenty writes would be more than one turn of the process.
  const time = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  onTestFinished(() => time.mockRestore())
  const yes = (waiting: readonly PendingCall[]): Decisions =>
    Object.fromEntries(waiting.map(({ id }) => [id, true]))
  const events = await eventsOf(await chats.resume('chat-1', yes, { context: undefined }))
  expect(events.at(-1)).toMatchObject({ type: 'end' })
  expect(restored).toBe(1)
})

describe('a turn', () => {
  test('shows what happens, each state once, and its end', async () => {
    const { chats } = await scene([
      [{ thinking: 'Hm.' }, { toolCall: { id: 'c1', name: 'look' } }],
      [{ text: 'There.' }, { usage: { inputTokens: 5 } }],
    ])
    const turn = await chats.ask('chat-1', question('Look'), { context: { user: 7 } })
    const events = await eventsOf(turn)
    const kinds = events.map((event) => (event.type === 'text' ? event.text : event.type))
    expect(seen.splice(0)).toEqual([{ user: 7 }])
    expect(kinds.filter((kind) => kind !== 'state')).toEqual([
      'begin',
      'thinking',
      'answer',
      'result',
      '\nThere.',
      'answer',
      'end',
    ])
    const states = events.flatMap((event) => (event.type === 'state' ? [event.state] : []))
    expect(states.at(-1)).toBe('Complete')
    for (const [index, state] of states.entries()) expect(states[index + 1]).not.toBe(state)
    expect(kinds.slice(0, 2)).toEqual(['begin', 'state'])
    expect(events.at(-1)).toStrictEqual({ type: 'end', finishReason: 'stop', usage: { inputTokens: 5 } })
  })

  test('without usage ends without it', async () => {
    const { chats } = await scene(['Hello.'])
    expect((await ask(chats, 'hi')).at(-1)).toStrictEqual({ type: 'end', finishReason: 'stop' })
  })

  test('whose audience has left shows nothing more', async () => {
    const { chats } = await scene([[{ text: 'Well' }, { hang: true }]])
    const turn = await chats.ask('chat-1', question('hi'), { context: undefined })
    const leave = new AbortController()
    const kinds: string[] = []
    const onEvent = ({ type }: TurnEvent) => {
      kinds.push(type)
      if (type === 'text') leave.abort()
    }
    await turn.follow({ onEvent, ready: async () => {}, signal: leave.signal })
    expect(kinds.at(-1)).toBe('text')
  })
})

describe('a decision', () => {
  const calling: ScriptTurn[] = [
    [
      { toolCall: { id: 'c1', name: 'send' } },
      { toolCall: { id: 'c2', name: 'send' } },
      { toolCall: { id: 'c3', name: 'send' } },
    ],
    [{ toolCall: { id: 'c4', name: 'get_place' } }],
    'Done.',
  ]
  const resume = async (chats: StoredChats, decisions: Decisions) =>
    eventsOf(await chats.resume('chat-1', () => decisions, { context: undefined }))

  test('is a command for each call, and the turn continues after them', async () => {
    const { chats, runs } = await scene(calling)
    const commands = commandsTo(runs)
    const waits = (await ask(chats, 'Send')).at(-1)
    expect(waits).toMatchObject({ type: 'waits', calls: [{ id: 'c1' }, { id: 'c2' }, { id: 'c3' }] })
    const next = await resume(chats, {
      c1: true,
      c2: { approve: false, reason: 'too far' },
      c3: { approve: false },
    })
    expect(next.at(0)).toMatchObject({ type: 'begin' })
    expect(next.filter(({ type }) => type === 'answer')).toHaveLength(1)
    expect(next.at(-1)).toMatchObject({ type: 'waits', calls: [{ id: 'c4' }] })
    const last = await resume(chats, { c4: { result: 'Oslo', isError: false } })
    expect(last.at(-1)).toEqual({ type: 'end', finishReason: 'stop' })
    expect(commands).toStrictEqual([
      { type: 'tool.approve', callId: 'c1' },
      { type: 'tool.reject', callId: 'c2', reason: 'too far' },
      { type: 'tool.reject', callId: 'c3' },
      { type: 'tool.answer', callId: 'c4', result: 'Oslo', isError: false },
    ])
  })

  test('on nothing, or on what was decided meanwhile, is refused', async () => {
    const { chats, runs } = await scene(calling)
    const none = refused(409, 'No call of this chat waits')
    await expect(resume(chats, { c1: true })).rejects.toEqual(none)
    await ask(chats, 'Send')
    await expect(resume(chats, {})).rejects.toEqual(none)
    commandsTo(runs, () => Promise.reject(new ConfigurationError('It was decided on.')))
    await expect(resume(chats, { c1: true })).rejects.toEqual(none)
    commandsTo(runs, () => Promise.reject(new Error('The disk is full.')))
    await expect(resume(chats, { c1: true })).rejects.toThrow('The disk is full.')
  })
})

describe('a running answer', () => {
  const hanging: ScriptTurn[] = [[{ text: 'Well' }, { hang: true }], 'Yes?']

  test('ends with its reason when it is stopped', async () => {
    const { chats, runs } = await scene(hanging)
    const commands = commandsTo(runs)
    await chats.stop('chat-1')
    await chats.ask('chat-1', question('One'), { context: undefined })
    await chats.stop('chat-1')
    expect(commands).toEqual([{ type: 'abort', reason: 'the user has stopped it' }])
  })

  test('ends when a file is asked about, and when it is asked again', async () => {
    const { chats, runs } = await scene([[{ hang: true }], [{ hang: true }], 'Yes?'])
    const commands = commandsTo(runs)
    await chats.ask('chat-1', question('One'), { context: undefined })
    const file = { type: 'link', url: 'https://example.com/a.png' } as const
    await chats.ask('chat-1', question('', { prompt: [file] }), { context: undefined })
    expect((await ask(chats, '', { intent: 'edit', prompt: [file] })).at(-1)).toMatchObject({ type: 'end' })
    expect(commands).toEqual([
      { type: 'abort', reason: 'the user has asked something else' },
      { type: 'abort', reason: 'the user has asked something else' },
    ])
  })

  test('that waits for a person ends when something else is asked', async () => {
    const { chats, runs } = await scene([[{ toolCall: { id: 'c1', name: 'send' } }], 'Yes?'])
    const commands = commandsTo(runs)
    expect((await ask(chats, 'One')).at(-1)).toMatchObject({ type: 'waits' })
    expect((await ask(chats, 'Two')).at(-1)).toMatchObject({ type: 'end' })
    expect(commands).toMatchObject([{ type: 'abort' }])
  })

  test('that cannot be ended because the store is broken is an error', async () => {
    const { chats, runs } = await scene(hanging)
    await chats.ask('chat-1', question('One'), { context: undefined })
    commandsTo(runs, () => Promise.reject(new Error('The disk is full.')))
    await expect(chats.stop('chat-1')).rejects.toThrow('The disk is full.')
  })

  test('that no process runs makes the client wait ten seconds, and then try again later', async () => {
    const { chats, runs } = await scene(hanging)
    await chats.ask('chat-1', question('One'), { context: undefined })
    const chat = runs.chat.bind(runs)
    runs.chat = async (...given) => {
      const found = await chat(...given)
      const run = await found.run()
      const never = run && {
        ...run,
        id: run.id,
        info: () => run.info(),
        result: new Promise<never>(() => {}),
      }
      return Object.assign(Object.create(found), { run: async () => never })
    }
    const commands = commandsTo(runs, () => Promise.reject(new ConfigurationError('It has ended.')))
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    let outcome: unknown
    void chats.stop('chat-1').catch((thrown: unknown) => {
      outcome = thrown
    })
    await vi.waitUntil(() => commands.length === 1, { timeout: 30_000, interval: 1 })
    await vi.advanceTimersByTimeAsync(9_900)
    expect(outcome).toBeUndefined()
    for (let tries = 0; tries < 50 && outcome === undefined; tries += 1)
      await vi.advanceTimersByTimeAsync(200)
    expect(outcome).toEqual(refused(409, 'still answering'))
    expect(commands).toEqual([{ type: 'abort', reason: 'the user has stopped it' }])
  })
})

describe('a question', () => {
  const turns = ['One.', 'Two.', 'Three.']
  const storedScene = async () => {
    const { chats, runs } = await scene([...turns, 'New.'])
    for (const text of ['First', 'Second', 'Third']) await ask(chats, text)
    return { chats, runs }
  }
  const all = ['First', 'One.', 'Second', 'Two.', 'Third', 'Three.']

  test.each<[string, string, Partial<Question>, string[]]>([
    ['is new', 'Else', { asked: ['First'] }, [...all, 'Else', 'New.']],
    [
      'takes the place of another',
      'Else',
      { intent: 'edit', asked: ['First'] },
      ['First', 'One.', 'Else', 'New.'],
    ],
    ['takes the place of the first', 'Else', { intent: 'edit' }, ['Else', 'New.']],
    [
      'is asked again in the middle, as it is stored',
      'x',
      { intent: 'regenerate', asked: ['First'] },
      ['First', 'One.', 'Second', 'New.'],
    ],
    [
      'is asked again at the end',
      'x',
      { intent: 'regenerate', asked: ['First', 'Second'] },
      [...all.slice(0, 5), 'New.'],
    ],
    [
      'has prompts before it that were not kept',
      'Else',
      { intent: 'edit', asked: ['Lost', 'First', 'Lost'] },
      ['First', 'One.', 'Else', 'New.'],
    ],
    [
      'takes the place of one that was not kept',
      'Else',
      { intent: 'edit', asked: ['First', 'Second', 'Third'] },
      [...all, 'Else', 'New.'],
    ],
  ])('%s', async (_, text, over, texts) => {
    const { chats, runs } = await storedScene()
    await ask(chats, text, over)
    expect(await textsIn(runs)).toEqual(texts)
  })
})
