import { spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { Agent } from '../../agent/Agent.ts'
import type { Inspect } from '../../agent/watching.ts'
import { type Tool, tool } from '../../tools/tool.ts'
import type { Command } from '../command.ts'
import { Screen } from '../Screen.ts'
import { calculator } from '../tools/calculator.ts'
import { Conversation } from './chat.ts'

export const demo: Command = {
  name: 'demo',
  summary: 'Shows an agent at work, without a key or a network',
  operands: '',
  options: { 'no-open': { type: 'boolean', about: 'do not open a browser' } },
  details: [
    'A simulator plays the model. There are tools that take their time, a',
    'request that fails and is tried again, and a call that needs your approval. It',
    'takes about a minute; then you can ask more. Without a terminal it is quick,',
    'allows the call, and ends with the result.',
  ],
  run: async (invocation) => {
    const { stdin, env, values } = invocation
    const isWatched = stdin.isTTY === true && invocation.screen.isTerminal
    // A log of it is for people alone: its calls are lines between the pieces of the answer.
    const screen = isWatched ? invocation.screen : new Screen(process.stdout, process.stdout, env)
    const [{ startInspector }, { startSimulator }] = await Promise.all([
      import('../../inspector/index.ts'),
      import('../../simulator/index.ts'),
    ])
    const simulator = await startSimulator({ delayMs: isWatched ? 150 : 0 })
    const inspector = await startInspector()
    const isOpened = isWatched && values['no-open'] !== true && (await openBrowser(inspector.url, env))
    const { inspect, url } = inspector
    const agent = demoAgent({ baseUrl: simulator.baseUrl, inspect, pace: isWatched ? 1 : 0 })
    const said = [
      `An agent plans a trip.${isWatched ? ` ${isOpened ? 'Your browser shows it' : 'Watch it in a browser'}: ${url}` : ''}`,
      'No key, no network: a simulator answers. One request fails, and is tried again.',
      isWatched
        ? 'Within a minute it asks before it books a train: answer here, or on the page.'
        : 'There is no terminal to ask: it is quick, books the train without approval, and has no page to watch.',
    ].join('\n')
    const close = async () => {
      await Promise.all([inspector.close(), simulator.close()])
    }
    const asked = { ...invocation, screen, values: { approve: !isWatched } }
    const conversation = new Conversation(asked, { make: () => agent, said, close }, { file: 'The demo' })
    try {
      return await conversation.hold(demoPrompt)
    } finally {
      await conversation.close()
    }
  },
}

type DemoOptions = {
  baseUrl: string
  inspect: Inspect
  /** The factor of all waits: 1 for a person who watches, 0 for a script. */
  pace: number
}

export const demoPrompt =
  'What is the weather in Oslo and Bergen? What is 2 * 349 + 120? Then book a train to Bergen.'

/** An agent that shows everything: slow tools, a request that fails once, and a call that needs a yes. */
export const demoAgent = ({ baseUrl, inspect, pace }: DemoOptions): Agent =>
  new Agent('openai-chat:simulator', {
    name: 'travel agent',
    baseUrl,
    // Not the name of the model: keys are hidden wherever they are shown.
    apiKey: 'key-of-the-demo',
    inspect,
    thinking: true,
    // One call after the other, each in its own turn: there is more to see.
    parallelToolCalls: false,
    tools: [weather(pace), calculator, trains(pace)],
    retry: { maxRetries: 2, initialDelayMs: 4000 * pace },
    connection: { fetch: failingOnce(2) },
  })

const weather = (pace: number): Tool =>
  tool({
    name: 'get_weather',
    description: 'Current weather in a city',
    input: z.object({ city: z.string() }),
    execute: async ({ city }, { signal, report }) => {
      for (const station of [1, 2, 3]) {
        await wait(1500 * pace, undefined, { signal })
        report(`station ${station} of 3 has answered`)
      }
      return { city, celsius: city === 'Bergen' ? 12 : 9, sky: city === 'Bergen' ? 'rain' : 'clear' }
    },
  })

const trains = (pace: number): Tool =>
  tool({
    name: 'book_train',
    description: 'Books a train to a city',
    input: z.object({ city: z.string() }),
    needsApproval: true,
    execute: async ({ city }, { signal }) => {
      await wait(3000 * pace, undefined, { signal })
      return `The train to ${city} at 08:25 is booked, coach 4, seat 12. No money was spent: this is a demo.`
    },
  })

/** A `fetch` that answers one request with an error: the one after this many. */
const failingOnce = (before: number): typeof fetch => {
  let count = 0
  return (input, init) => {
    count += 1
    if (count !== before + 1) return fetch(input, init)
    const body = JSON.stringify({ error: { message: 'The demo fails here on purpose.' } })
    return Promise.resolve(new Response(body, { status: 503 }))
  }
}

/** The program that opens a page here; undefined where there is no screen to show it on. */
export const browserCommand = (
  platform: NodeJS.Platform,
  env: NodeJS.ProcessEnv,
): readonly [command: string, ...args: string[]] | undefined => {
  if (env.CI || env.SSH_CONNECTION) return undefined
  if (platform === 'darwin') return ['open']
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler']
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ['xdg-open'] : undefined
}

/** Opens a page in the browser. Resolves with true if a browser was started, without waiting for the page. */
const openBrowser = async (url: string, env: NodeJS.ProcessEnv): Promise<boolean> => {
  const [command, ...args] = browserCommand(process.platform, env) ?? []
  if (command === undefined) return false
  const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  child.unref()
  return new Promise((resolve) => {
    child.once('spawn', () => resolve(true))
    child.once('error', () => resolve(false))
  })
}
