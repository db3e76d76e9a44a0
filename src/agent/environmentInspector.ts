import type { AnyActorRef, InspectionEvent } from 'xstate'
import {
  addTracer,
  type RunTracer,
  type TracedCalls,
  type TracedTurn,
} from '../../machines/logic/runEnvironment.ts'
import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import type { ModelSink } from '../model/chatModel.ts'

/** The part of the inspector of `statewire/inspector` that is used here. */
type Inspector = { url: string; inspect(event: InspectionEvent): void; show(runs: object): Promise<void> }

let shared: EnvironmentInspector | undefined

/** The inspector of every agent of this process, if `STATEWIRE_INSPECT` asks for one. */
export const environmentInspector = (): EnvironmentInspector | undefined => {
  const port = wantedPort()
  if (port === undefined) return undefined
  shared ??= new EnvironmentInspector(port)
  return shared
}

/** The port that is asked for; 0 is any free one. Only Node is asked: the inspector needs a server. */
const wantedPort = (): number | undefined => {
  const wanted = typeof process === 'object' && process.versions?.node && process.env.STATEWIRE_INSPECT
  if (!wanted || wanted === '0') return undefined
  const port = wanted === '1' ? 0 : Number(wanted)
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port
  throw new ConfigurationError('STATEWIRE_INSPECT must be 1, or a port such as 4100.')
}

/**
 * Loads the inspector with the first agent, and hands over the events until then. The first request of the process
 * waits for it: a request that was sent before would not be seen.
 */
class EnvironmentInspector implements RunTracer {
  readonly #ready: Promise<Inspector | undefined>
  #inspector: Inspector | undefined
  #early: InspectionEvent[] | undefined = []

  constructor(port: number) {
    this.#ready = load(port).then(
      (inspector) => this.#start(inspector),
      (thrown) => {
        this.#early = undefined
        process.stderr.write(`statewire: the inspector did not start. ${describeThrown(thrown)}\n`)
        return undefined
      },
    )
  }

  readonly inspect = (event: InspectionEvent): void => {
    this.#inspector?.inspect(event)
    if (!this.#early) return
    this.#early.push(event)
    if (event.type === '@xstate.actor') addTracer((event.actorRef as AnyActorRef).system, this)
  }

  /** Lists stored runs, too. */
  show(runs: object): void {
    this.#ready
      .then((inspector) => inspector?.show(runs))
      .catch(() => {
        // They were closed before the inspector was there.
      })
  }

  turn(_: AnyActorRef, __: TracedTurn, ask: (sink: ModelSink) => unknown, sink: ModelSink): unknown {
    return this.#early ? this.#ready.then(() => ask(sink)) : ask(sink)
  }

  calls<T>(_: AnyActorRef, __: TracedCalls, execute: () => T): T {
    return execute()
  }

  #start(inspector: Inspector): Inspector {
    process.stderr.write(`statewire inspector: ${inspector.url}\n`)
    for (const event of this.#early ?? []) inspector.inspect(event)
    this.#early = undefined
    this.#inspector = inspector
    return inspector
  }
}

/** Imports the inspector by a name that bundlers cannot follow: no bundle should carry a server for this. */
const load = async (port: number): Promise<Inspector> => {
  const name = ['statewire', 'inspector'].join('/')
  const { startInspector } = await import(/* @vite-ignore */ /* webpackIgnore: true */ name)
  return startInspector({ port, keepsAlive: false })
}
