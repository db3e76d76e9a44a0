import { z } from 'zod'
import { Agent, type AgentOptions, Chat, type Tool, tool } from '../../src/index.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { LeapClock } from '../proof/leapClock.ts'
import { call, collected, idle, outcome, playActor } from './watchedRun.ts'

const used = { usage: { inputTokens: 3, outputTokens: 5 } }
const story: ScriptTurn = [
  { responseId: 'r1' },
  { thinking: 'Hm.' },
  { text: 'One ' },
  { text: 'two ' },
  { metadata: { mood: 'calm' } },
  { text: 'three.' },
  used,
]

/** A tool that takes as many turns of the event loop as its arguments say. */
const slow = (log: string[], name = 'slow'): Tool =>
  tool({
    name,
    description: 'Takes its time',
    input: z.object({ turns: z.number().default(1) }),
    execute: async ({ turns }, { callId, signal }) => {
      log.push(`begins ${callId}`)
      for (let turn = 0; turn < turns; turn += 1) await new Promise((next) => setImmediate(next))
      log.push(`ends ${callId}${signal.aborted ? ' too late' : ''}`)
      return { callId }
    },
  })

const ask = (needsApproval = true): Tool =>
  tool({ name: 'ask', description: 'Asks first', needsApproval, execute: (_, { callId }) => `ran ${callId}` })

const three: ScriptTurn = [
  { text: 'Working.' },
  call('a', 'slow', { turns: 3 }),
  call('b', 'slow', { turns: 1 }),
  call('c', 'slow', { turns: 2 }),
  used,
]

const tooled = (toolExecution: NonNullable<AgentOptions['toolExecution']>) => async () => {
  const log: string[] = []
  const agent = new Agent(scriptedModel([three, story]), {
    tools: [slow(log)],
    toolExecution,
    clock: new LeapClock(),
  })
  return { watched: await playActor(agent.actor({ prompt: 'Go' })), log }
}

const asking: ScriptTurn = [{ text: 'May I?' }, call('a', 'ask'), call('b', 'ask'), call('c', 'slow'), used]

const city = z.object({ name: z.string(), celsius: z.number() })
const oslo = { name: 'Oslo', celsius: 21 }
const look: ScriptTurn = [{ text: 'Let me look.' }, call('w', 'slow')]
const json: ScriptTurn = [{ text: '{"name":"Os' }, { text: 'lo","celsius":' }, { text: '21}' }, used]

const typed = (turns: ScriptTurn[], profile: Parameters<typeof scriptedModel>[1] = {}) =>
  new Agent(scriptedModel(turns, profile), { tools: [slow([])], clock: new LeapClock() })

/** What a user calls: prompts in, results and errors out. */
export const batteryOfRuns: Record<string, () => Promise<unknown>> = {
  'text in several reads, streamed': () =>
    collected(new Agent(scriptedModel([story])).sendStream('Tell me a story.')),

  'text in several reads, whole': () => new Agent(scriptedModel([story])).send('Tell me a story.'),

  'tools one after the other': tooled('sequential'),
  'tools at the same time': tooled('parallel'),
  'tools two at a time': tooled({ concurrency: 2 }),

  'a batch of the user’s own': async () => {
    const agent = new Agent(scriptedModel([three, 'Done.']), {
      tools: [slow([])],
      toolExecutor: {
        executeBatch: async (calls) =>
          calls.map(({ id, name }) => ({ type: 'toolResult', id, name, result: `mine ${id}` })),
      },
      clock: new LeapClock(),
    })
    return playActor(agent.actor({ prompt: 'Go' }))
  },

  'approval, stored and resumed': async () => {
    const tools = [ask(), slow([])]
    const first = await new Agent(scriptedModel([asking]), { tools }).send('Go')
    const { pendingApproval, ...rest } = first
    if (!pendingApproval) return 'nothing is pending'
    const stored = JSON.parse(JSON.stringify(pendingApproval))
    const agent = new Agent(scriptedModel([story]), { tools })
    const second = await agent.resume(stored, { a: true })
    const again = JSON.parse(JSON.stringify(second.pendingApproval))
    const third = await agent.resume(again, { b: { approve: false, reason: 'no' } })
    return [rest, pendingApproval.calls, second.pendingApproval?.calls, third]
  },

  'approval by a callback': async () => {
    const agent = new Agent(scriptedModel([asking, story]), {
      tools: [ask(), slow([])],
      onApproval: async ({ id }) => (id === 'a' ? true : { approve: false, reason: 'not this one' }),
      clock: new LeapClock(),
    })
    return playActor(agent.actor({ prompt: 'Go' }))
  },

  'approval by commands': async () => {
    const agent = new Agent(scriptedModel([asking, 'Done.']), {
      tools: [ask(), slow([])],
      clock: new LeapClock(),
    })
    const actor = agent.actor({ prompt: 'Go' })
    return playActor(actor, (event) => {
      if (event.type !== 'tool.approval') return
      actor.send({ type: event.callId === 'a' ? 'tool.approve' : 'tool.reject', callId: event.callId })
    })
  },

  'abort in mid-stream': async () => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { text: 'c' }, { hang: true }]])
    const end = new AbortController()
    const watched = await collected(new Agent(model).sendStream('Go', { signal: end.signal }), (_, count) => {
      if (count === 3) end.abort('enough')
    })
    return { watched, closed: model.closed }
  },

  'abort while tools run': async () => {
    const log: string[] = []
    const end = new AbortController()
    const waiting = tool({
      name: 'slow',
      description: 'Waits for the end',
      execute: (_, { callId, signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve(log.push(`${callId} was aborted`)))
          if (callId === 'a') setImmediate(() => end.abort('enough'))
        }),
    })
    const agent = new Agent(scriptedModel([three]), { tools: [waiting], toolExecution: 'parallel' })
    const watched = await outcome(agent.send('Go', { signal: end.signal }))
    await idle()
    return { watched, log }
  },

  'a loop that is left early': async () => {
    const model = scriptedModel([[{ text: 'a' }, { text: 'b' }, { hang: true }]])
    for await (const { output } of new Agent(model).sendStream('Go')) if (output === 'a') break
    return model.closed
  },

  'retries with back-off, then another model': async () => {
    const busy: ScriptTurn = [{ error: { message: 'busy', retryable: true } }]
    const agent = new Agent(scriptedModel([busy, busy, [{ error: { message: 'gone', retryable: true } }]]), {
      fallback: [scriptedModel([story], { provider: 'other' })],
      clock: new LeapClock(),
    })
    return playActor(agent.actor({ prompt: 'Go' }))
  },

  'a stream that breaks and starts over': async () => {
    const cut: ScriptTurn = [{ text: 'One ' }, { text: 'tw' }, { cut: true }]
    const agent = new Agent(scriptedModel([cut, story]), {
      retry: { midStream: true },
      clock: new LeapClock(),
    })
    return playActor(agent.actor({ prompt: 'Go' }))
  },

  'a failure, with what there was until then': () =>
    outcome(new Agent(scriptedModel([[{ text: 'Half' }, { error: { message: 'boom' } }]])).send('Go')),

  'steering, and a limit of steps': async () => {
    const agent = new Agent(scriptedModel([three, three]), {
      tools: [slow([])],
      maxSteps: 2,
      clock: new LeapClock(),
    })
    const actor = agent.actor({ prompt: 'Go' })
    return playActor(actor, ({ type }) => {
      if (type === 'tool.call') actor.send({ type: 'steer', text: 'Left!' })
    })
  },

  'a typed answer, natively': () => typed([look, json]).sendFor('Oslo?', city),
  'a typed answer, in two phases': () =>
    typed([look, 'Found it.', json], { profile: { schemaWithTools: false } }).sendFor('Oslo?', city),
  'a typed answer, as the arguments of a call': () =>
    typed([look, [call('r', 'return_result', oslo)]], { profile: { nativeSchema: false } }).sendFor(
      'Oslo?',
      city,
    ),
  'a typed answer, corrected once': () => typed(['{"name":1}', json]).sendFor('Oslo?', city),
  'a typed answer that never fits': () => outcome(typed(['no', 'nor this']).sendFor('Oslo?', city)),
  'a typed answer, while it grows': () => collected(typed([json]).sendStreamFor('Oslo?', city)),

  'a chat': async () => {
    const chat = new Chat(new Agent(scriptedModel([story, three, 'Bye.']), { tools: [slow([])] }))
    return [await chat.send('Hello.'), await collected(chat.sendStream('And now?')), chat.history]
  },
}
