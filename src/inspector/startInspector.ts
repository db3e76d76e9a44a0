import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { InspectionEvent } from 'xstate'
import { listProviders } from '../../providers/registry.ts'
import type { Runs } from '../durable/index.ts'
import { ConfigurationError } from '../messages/errors.ts'
import {
  checkOptions,
  checkValue,
  flag,
  having,
  listOf,
  orWrite,
  type Rule,
  type Rules,
  text,
  wholeFrom,
} from '../messages/optionRules.ts'
import { PageRuns } from './PageRuns.ts'
import { Pages } from './Pages.ts'
import { Recorder } from './Recorder.ts'
import { answer, newToken, Refusal } from './requests.ts'
import { routes } from './routes.ts'
import { StoredRuns } from './StoredRuns.ts'

/** Options of the inspector. None is required. */
export type InspectorOptions = {
  /** The port. Default: any that is free. */
  port?: number
  /** Texts that must never be shown. Keys of well-known shapes and keys in the environment are always hidden. */
  secrets?: readonly string[]
  /**
   * Stored runs to show as well. The inspector passes decisions on to the process that runs them, and runs nothing itself. If the
   * store was opened with their agents, the charts of the agents are shown.
   */
  runs?: Runs
  /** Keeps the process alive until the inspector is closed. Default: true. */
  keepsAlive?: boolean
}

/** A running inspector. */
export type Inspector = {
  /** The address for a browser. It holds a secret: anyone who has it can see and command the agents. */
  readonly url: string
  /** The observer for `createActor(machine, { inspect })` and `new Agent(model, { inspect })`. */
  readonly inspect: (event: InspectionEvent) => void
  /** Shows stored runs as well: see {@link InspectorOptions.runs}. They are listed when this resolves. */
  readonly show: (runs: Runs) => Promise<void>
  /** Closes the pages and frees the port. Until then the process stays alive, unless `keepsAlive` is false. */
  close(): Promise<void>
}

const rules: Rules<InspectorOptions> = {
  port: wholeFrom(0),
  secrets: listOf(text),
  runs: orWrite(having('list', 'get'), () => 'runs: await openRuns({ store })'),
  keepsAlive: flag,
}

/** An agent has the inspector, and not the inspector an agent. */
const noAgent: Rule = (name, value) =>
  typeof Object(value).sendStream === 'function'
    ? `${name} takes no agent: write new Agent(model, { inspect: inspector.inspect }).`
    : undefined

/**
 * Starts the live inspector: a local page that shows runs while they happen. It works with any XState actor, needs no
 * network, and is reached only from this machine.
 *
 * @example
 * const inspector = await startInspector()
 * console.log(inspector.url)
 * const agent = new Agent('openai:gpt-6-luna', { inspect: inspector.inspect })
 */
export const startInspector = async (options: InspectorOptions = {}): Promise<Inspector> => {
  checkValue('startInspector', options, noAgent)
  checkOptions('The options of startInspector', options, rules)
  const secrets = [...(options.secrets ?? []), ...keysOfEnvironment()]
  const pages = new Pages(secrets)
  const recorder = new Recorder(secrets, pages.wake)
  const stores = new Map<Runs, StoredRuns>()
  const show = async (runs: Runs): Promise<void> => {
    if (stores.has(runs)) return
    const stored = new StoredRuns(runs, recorder, () => pages.isOpen)
    stores.set(runs, stored)
    recorder.stores.push(stored)
    await stored.open()
  }
  const closeStores = () => {
    for (const stored of stores.values()) stored.close()
  }
  if (options.runs) await show(options.runs)
  const token = newToken()
  const portOf = () => (server.address() as AddressInfo).port
  const pageRuns = new PageRuns(recorder)
  const handle = routes(recorder, pages, pageRuns, token, portOf)
  const server = createServer((request, response) => {
    handle(request, response).catch((thrown) => {
      const refusal = thrown instanceof Refusal ? thrown : new Refusal(500, 'The inspector could not answer.')
      if (response.headersSent) response.destroy()
      else answer(response, refusal.status, 'text/plain', refusal.message)
    })
  })
  if (options.keepsAlive === false) {
    server.on('connection', (socket) => socket.unref())
    server.unref()
  }
  server.listen(options.port ?? 0, '127.0.0.1')
  await once(server, 'listening').catch((cause) => {
    closeStores()
    throw new ConfigurationError(
      `The inspector cannot use port ${options.port}: leave it out, or choose another.`,
      {
        cause,
      },
    )
  })
  let isOpen = true
  return {
    show,
    url: `http://127.0.0.1:${portOf()}/${token}/`,
    inspect: (event) => {
      if (isOpen) recorder.inspect(event)
    },
    async close() {
      if (!isOpen) return
      isOpen = false
      closeStores()
      pages.close()
      recorder.isClosed = true
      pageRuns.close()
      recorder.actors.clear()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

/** Keys that agents take from the environment. */
const keysOfEnvironment = (): string[] =>
  listProviders().flatMap(({ keyVariable }) => (keyVariable && process.env[keyVariable]) || [])
