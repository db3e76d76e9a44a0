// Runs in every phase in which a person may see them. They stay in it while the page is tested.
import type { Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentOptions } from '../../src/agent/Agent.ts'
import { openRuns, sqlite } from '../../src/durable/index.ts'
import type { InspectorOptions } from '../../src/inspector/index.ts'
import { dataPart, modelMessage, textPart, userMessage } from '../../src/messages/messages.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { tool } from '../../src/tools/tool.ts'
import { owning } from '../cli/storedRuns.ts'
import { inspecting } from './watching.ts'

export type Phase = {
  name: string
  /** Brings a run there, and returns the address of its inspector. */
  begin(): Promise<string>
  /** Resolves when the page shows it. */
  seen(page: Page): Promise<void>
}

const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="120"><rect width="320" height="120" rx="8" fill="#dfe7ff"/><path d="M0 96 60 70 120 84 190 40 250 58 320 24V120H0Z" fill="#5c69e0"/></svg>'

const weather = tool({
  name: 'get_weather',
  description: 'Current weather in a city',
  input: z.object({ city: z.string() }),
  execute: ({ city }, { report }) => {
    report('station 1 of 2 has answered')
    report('station 2 of 2 has answered')
    const measured = textPart(JSON.stringify({ city, celsius: 9, sky: 'clear' }))
    return [measured, dataPart('image/svg+xml', Buffer.from(picture))]
  },
})

const slow = tool({
  name: 'search_trains',
  description: 'Finds trains',
  input: z.object({ from: z.string(), to: z.string() }),
  execute: (_, { signal, report }) => {
    report('asking 3 of 12 operators')
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve('aborted')))
  },
})

const booking = tool({
  name: 'book_train',
  description: 'Books a train',
  input: z.object({ to: z.string(), departs: z.string(), seats: z.number() }),
  needsApproval: true,
  execute: ({ to }) => `Booked a train to ${to}.`,
})

const usage = { usage: { inputTokens: 1240, outputTokens: 86 } }
const looksUp: ScriptTurn = [
  { thinking: 'The person wants the weather first. I look it up before I say anything about trains.' },
  { text: 'Let me look at the weather in Bergen first.' },
  { toolCall: { id: 'w1', name: 'get_weather', arguments: { city: 'Bergen' } } },
  usage,
]
const prompt = 'How is the weather in Bergen? Then find me a train there, and book a seat.'
const answer =
  'It is 9 °C and clear in Bergen.\n\nThere are three trains today. The one at 08:25 is the fastest: it takes 6 h 40 min and has seats left in the quiet coach.'
const price = () => 0.0034

/** An agent that plays these turns, and its run. */
const run = async (turns: ScriptTurn[], options: AgentOptions = {}): Promise<string> => {
  const inspector = await inspecting()
  const agent = new Agent(scriptedModel(turns), {
    name: 'travel agent',
    tools: [weather, slow, booking],
    price,
    retry: { maxRetries: 1, initialDelayMs: 60_000 },
    inspect: inspector.inspect,
    ...options,
  })
  const actor = agent.actor({
    prompt,
    history: [userMessage('Hello!'), modelMessage('Hello, how can I help?')],
  })
  onTestFinished(() => void actor.stop())
  actor.start()
  return inspector.url
}

const stored = async (turns: ScriptTurn[], options?: AgentOptions): Promise<InspectorOptions> => {
  const { file, runs } = await owning(turns, undefined, options)
  await (await runs.start('janitor', 'Remove the old logs', { id: 'job-1' })).result
  const guest = await openRuns({ store: sqlite(file) })
  onTestFinished(() => guest.close())
  return { runs: guest }
}

const shows = (text: string) => async (page: Page) => {
  await page.locator('#panel-conversation').getByText(text).first().waitFor()
}

const expert = () => {
  const turns: ScriptTurn[] = [looksUp, [{ text: 'The 08:25 is the best train.' }, usage]]
  const inner = new Agent(scriptedModel(turns), { name: 'train expert', tools: [weather] })
  return inner.asTool({ name: 'ask_train_expert', description: 'Knows trains' })
}

export const phases: Phase[] = [
  {
    name: 'empty',
    begin: async () => (await inspecting()).url,
    seen: (page) => page.getByText('Waiting for the first run').waitFor(),
  },
  {
    name: 'asking',
    begin: () => run([[{ hang: true }]]),
    seen: shows('waiting for the first word'),
  },
  {
    name: 'streaming',
    begin: () => run([looksUp, [{ text: answer }, { hang: true }]]),
    seen: shows('There are three trains'),
  },
  {
    name: 'tool',
    begin: () =>
      run([
        looksUp,
        [
          { text: 'It is clear. Now the trains.' },
          { toolCall: { id: 's1', name: 'search_trains', arguments: { from: 'Oslo', to: 'Bergen' } } },
          usage,
        ],
      ]),
    seen: shows('asking 3 of 12 operators'),
  },
  {
    name: 'approval',
    begin: () =>
      run([
        looksUp,
        [
          { text: 'It is clear in Bergen. I would book the 08:25 for you.' },
          {
            toolCall: {
              id: 'b1',
              name: 'book_train',
              arguments: { to: 'Bergen', departs: '2026-11-18 08:25', seats: 1 },
            },
          },
          usage,
        ],
      ]),
    seen: (page) => page.getByRole('button', { name: 'Approve' }).waitFor(),
  },
  {
    name: 'limit',
    begin: () => run([looksUp], { limits: { steps: 1 }, atLimit: 'ask' }),
    seen: (page) => page.getByRole('button', { name: 'Go on' }).waitFor(),
  },
  {
    name: 'retry',
    begin: () =>
      run([looksUp, [{ error: { message: 'The provider is overloaded (529).', retryable: true } }]]),
    seen: shows('The model is asked again after a pause'),
  },
  {
    name: 'discarded',
    begin: () =>
      run(
        [
          [
            { text: 'It is 9 °C and ' },
            { error: { message: 'The connection was closed.', retryable: true } },
          ],
          [{ text: answer }, usage],
        ],
        { retry: { maxRetries: 1, initialDelayMs: 0, midStream: true } },
      ),
    seen: (page) => page.locator('.outcome.done').waitFor(),
  },
  {
    name: 'failed',
    begin: () =>
      run([looksUp, [{ error: { message: 'Your credit balance is too low.', retryable: false } }]]),
    seen: shows('ModelError: Your credit balance is too low.'),
  },
  {
    name: 'aborted',
    begin: () => run([looksUp, [{ text: 'It is 9 °C and clear in ' }, { hang: true }]]),
    seen: async (page) => {
      await shows('It is 9 °C')(page)
      await page.getByRole('button', { name: 'Abort' }).click()
      await page.locator('.outcome.aborted').waitFor()
    },
  },
  {
    name: 'complete',
    begin: () => run([looksUp, [{ text: answer }, usage]]),
    seen: (page) => page.locator('.outcome.done').waitFor(),
  },
  {
    name: 'sub-agent',
    begin: () =>
      run(
        [
          [{ toolCall: { id: 'x1', name: 'ask_train_expert', arguments: { prompt: 'Trains?' } } }, usage],
          [{ text: answer }, usage],
        ],
        { tools: [expert()] },
      ),
    seen: async (page) => {
      await page.locator('.outcome.done').waitFor()
      await page.getByText('Conversation of train expert').click()
      await page.locator('.nested-run').getByText('The 08:25 is the best train.').waitFor()
    },
  },
  {
    name: 'stored',
    begin: async () => {
      const turns: ScriptTurn[] = [
        [
          { text: 'I remove the logs of last year.' },
          { toolCall: { id: 'r1', name: 'remove', arguments: { path: '/var/log/2025' } } },
          usage,
        ],
      ]
      return (await inspecting(await stored(turns))).url
    },
    seen: (page) => page.getByRole('button', { name: 'Approve' }).waitFor(),
  },
]
