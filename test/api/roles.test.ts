/** User and model alternate in every result and in every chat, however a run ends and in whatever state. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/orchestrators/reasoning.ts'
import { reflectionOrchestrator } from '../../machines/orchestrators/reflection.ts'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { Chat } from '../../src/agent/Chat.ts'
import type { AnyRun } from '../../src/agent/Run.ts'
import { AbortedError, StatewireError } from '../../src/messages/errors.ts'
import type { ChatMessage } from '../../src/messages/messages.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { tool } from '../../src/tools/tool.ts'
import { idle } from '../engine/watching.ts'
import { settled } from './askingAgent.ts'

const schema = z.object({ n: z.number() })
const free = tool({ name: 'free', description: 'free', execute: () => 'free' })
const ends = tool({ name: 'ends', description: 'ends', endsRun: true, execute: () => 'over' })
const slow = tool({ name: 'slow', description: 'slow', execute: () => new Promise(() => {}) })
const ask = tool({ name: 'ask', description: 'ask', needsApproval: true, execute: () => 'asked' })
const outside = tool({ name: 'outside', description: 'outside' })
const tools = [free, ends, slow, ask, outside]

const calls = (...names: string[]): ScriptTurn =>
  names.map((name, at) => ({ toolCall: { id: `${name}${at}`, name } }))
const returns = (value: object): ScriptTurn => [
  { toolCall: { name: 'return_result', arguments: { ...value } } },
]

const agentOf = (
  turns: readonly ScriptTurn[],
  profile: Partial<ModelProfile> = {},
  options: AgentOptions = {},
) => new Agent(scriptedModel(turns, { profile }), { tools, ...options })

/** What a send leaves in a chat, and in its result or error; the chat goes on from there. */
const expectAlternating = async (
  turns: readonly ScriptTurn[],
  send: (chat: Chat) => Promise<{ messages: ChatMessage[] }>,
  profile: Partial<ModelProfile> = {},
  options: AgentOptions = {},
): Promise<void> => {
  const chat = new Chat(agentOf([...turns, ...Array(8).fill('later')], profile, options))
  const messages = await settled(send(chat)).then(
    (result) => result.messages,
    (thrown) => {
      if (thrown instanceof StatewireError) return thrown.partial?.messages ?? []
      throw thrown
    },
  )
  expect(validateHistory(messages)).toEqual([])
  expect(validateHistory(chat.history)).toEqual([])
  await settled(chat.send('And now?'))
  expect(validateHistory(chat.history)).toEqual([])
}

const plain = (chat: Chat) => chat.send('Go')
const typed = (chat: Chat) => chat.sendFor('Go', schema)
const byTool = { nativeSchema: false }
const inTwo = { schemaWithTools: false }
const error: ScriptTurn = [{ error: { message: 'boom' } }]

describe('roles alternate', () => {
  test.each<[string, ScriptTurn[], typeof plain | typeof typed, Partial<ModelProfile>?, AgentOptions?]>([
    ['at the step limit', [calls('free'), calls('free')], plain, {}, { maxSteps: 2 }],
    ['at the step limit of a typed answer', [calls('free')], typed, {}, { maxSteps: 1 }],
    ['at the step limit before a typed answer by tool', [calls('free')], typed, byTool, { maxSteps: 1 }],
    [
      'at the step limit of the first of two phases',
      [calls('free'), '{"n":1}'],
      typed,
      inTwo,
      { maxSteps: 1 },
    ],
    [
      'at the step limit in a pause',
      [[{ text: 'P' }, { finish: 'stop', pause: true }]],
      plain,
      {},
      { maxSteps: 1 },
    ],
    ['after a typed answer by tool', [returns({ n: 1 })], typed, byTool],
    ['after a corrected typed answer by tool', [returns({ n: 'x' }), returns({ n: 1 })], typed, byTool],
    ['after words and a typed answer by tool', [calls('free'), returns({ n: 1 })], typed, byTool],
    ['after a typed answer by tool as text', ['{"n":1}'], typed, byTool],
    ['after a misfit by tool', Array(4).fill(returns({ n: 'x' })), typed, byTool, { maxSteps: 2 }],
    ['after a misfit', ['{"n":"x"}', '{"n":"y"}'], typed],
    ['after a typed answer in two phases', [calls('free'), 'So.', '{"n":1}'], typed, inTwo],
    ['after a failure between two phases', [calls('free'), 'So.', error], typed, inTwo],
    ['after a misfit in two phases', ['So.', '{"n":"x"}', '{"n":"y"}'], typed, inTwo],
    ['after a tool that ends the run', [calls('ends')], plain],
    ['after a tool that ends the run, beside another', [calls('free', 'ends')], plain],
    ['after a tool that ends a typed run', [calls('ends')], typed],
    ['after a tool that ends the first of two phases', [calls('ends'), '{"n":1}'], typed, inTwo],
    ['after a failure at once', [error], plain],
    ['after a failure in an answer', [[{ text: 'Hal' }, { error: { message: 'boom' } }]], plain],
    ['after a failure beside a call', [[{ toolCall: { id: 'a', name: 'free' } }, { error: {} }]], plain],
    ['after a failure after tools', [calls('free'), error], plain],
    ['after a failure of a typed answer by tool', [calls('free'), error], typed, byTool],
    ['after an empty answer', [[]], plain],
    ['after two empty answers to tools', [calls('free'), [], []], plain],
    ['after a cut', [calls('free'), [{ text: 'Hal' }, { cut: true }]], plain],
    [
      'after a failure in the second phase',
      ['Analysis.', error],
      plain,
      {},
      { orchestrator: reasoningOrchestrator() },
    ],
    [
      'at the step limit of a phase',
      ['A.', 'H.', calls('free'), 'S.'],
      plain,
      {},
      { maxSteps: 1, orchestrator: reasoningOrchestrator() },
    ],
    [
      'after a failure in a critique',
      ['Draft.', error],
      plain,
      {},
      { orchestrator: reflectionOrchestrator() },
    ],
    [
      'at the step limit of a draft',
      [calls('free'), 'approved', 'R.'],
      plain,
      {},
      { maxSteps: 1, orchestrator: reflectionOrchestrator() },
    ],
  ])('%s', (_, turns, send, profile, options) => expectAlternating(turns, send, profile, options))
})

const hang: ScriptTurn = [{ text: 'Hal' }, { hang: true }]
const paused: Record<string, { turns: ScriptTurn[]; options?: AgentOptions }> = {
  Requesting: { turns: [[{ hang: true }]] },
  Streaming: { turns: [hang] },
  'Streaming a call': { turns: [[{ toolCall: { id: 'a', name: 'free' } }, { hang: true }]] },
  'Streaming after tools': { turns: [calls('free'), hang] },
  BackingOff: { turns: [[{ error: { retryable: true } }]], options: { retry: { initialDelayMs: 60_000 } } },
  AwaitingApproval: { turns: [calls('ask', 'free')], options: { onApproval: () => new Promise(() => {}) } },
  ToolExecution: { turns: [calls('free', 'slow')] },
}

const charts: Record<
  string,
  { before: ScriptTurn[]; options: AgentOptions; profile?: Partial<ModelProfile> }
> = {
  plain: { before: [], options: {} },
  reasoning: { before: ['A.', 'H.'], options: { orchestrator: reasoningOrchestrator() } },
  reflection: { before: [], options: { orchestrator: reflectionOrchestrator() } },
  native: { before: [], options: {}, profile: {} },
  byTool: { before: [], options: {}, profile: byTool },
  inTwo: { before: [], options: {}, profile: inTwo },
}

describe.each(Object.entries(charts))('an abort of the chart %s', (_, { before, options, profile }) => {
  test.each(Object.entries(paused))(
    'in %s leaves roles that alternate',
    async (__, { turns, options: own }) => {
      const controller = new AbortController()
      const aborted = async (chat: Chat) => {
        const runs: AnyRun[] = []
        const rest = { signal: controller.signal, onStart: (run: AnyRun) => void runs.push(run) }
        const sent = profile ? chat.sendFor('Go', schema, rest) : chat.send('Go', rest)
        sent.catch(() => {})
        await idle()
        controller.abort()
        try {
          return await sent
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(AbortedError)
          expect(validateHistory([...(runs[0]?.messages ?? [])])).toEqual([])
          throw thrown
        }
      }
      await expectAlternating([...before, ...turns], aborted, profile, { ...options, ...own })
    },
  )
})

test('a run that is stopped while external tools are awaited leaves roles that alternate', async () => {
  const run = agentOf([calls('free', 'outside')]).start('Go')
  await settled(run.result)
  run.abort()
  await expect(settled(run.result)).rejects.toBeInstanceOf(AbortedError)
  expect(validateHistory([...run.messages])).toEqual([])
})

test('what a person says meanwhile is between the answers, in two phases as well', async () => {
  for (const profile of [{}, byTool, inTwo]) {
    const last = profile === byTool ? returns({ n: 1 }) : '{"n":1}'
    const run = agentOf(['First.', 'Second.', last, last], profile).start('Go', { schema })
    run.steer('And hurry.')
    await settled(run.result).catch(() => {})
    expect(validateHistory([...run.messages])).toEqual([])
  }
})
