import { ConfigurationError } from '../messages/errors.ts'
import {
  callable,
  checkOptions,
  checkValue,
  finiteAmount,
  oneOf,
  type Rules,
  rule,
} from '../messages/optionRules.ts'
import { play } from './tape/play.ts'
import { TapePlayer } from './tape/TapePlayer.ts'
import { TapeRecorder } from './tape/TapeRecorder.ts'
import { readRequest, type Scrub, tapedRequest } from './tape/tapedRequest.ts'
import { hasTape, readTape } from './tape/tapeFile.ts'

/**
 * Options of {@link cassette}.
 *
 * @example cassette('tapes/weather.json', { mode: process.env.RECORD ? 'record' : 'replay', speed: 1 })
 */
export type CassetteOptions = {
  /**
   * `record` asks the provider and overwrites the tape. `replay` never goes to the network. `auto` replays an existing
   * tape and records a missing one; where the environment variable `CI` is set, it only replays. Default: `'auto'`.
   */
  mode?: 'auto' | 'record' | 'replay'
  /**
   * Changes the JSON body of a request before it is kept and before it is compared: for what is private, and for what is
   * new in every run. The provider gets the body as it was.
   */
  scrub?: Scrub
  /**
   * How fast a tape is played: 0, the default, at once; 1 as it was recorded; 2 twice as fast. The agent's own waits, as
   * before a retry, stay what they are.
   */
  speed?: number
}

/**
 * A `fetch` that records and replays. Give it to an agent as it is: wrapped in another function, it cannot signal that
 * no key is needed.
 *
 * @example const agent = new Agent('openai:gpt-6-luna', { connection: { fetch: tape } })
 */
export type Cassette = typeof fetch & {
  /** Whether it plays a tape. Then an agent needs no key. */
  readonly isReplay: boolean
  /**
   * Call it at the end of a test. Recording, it waits until the tape is on disk; replaying, it rejects when recorded
   * answers were not asked for.
   */
  done(): Promise<void>
}

const rules: Rules<CassetteOptions> = {
  mode: oneOf('auto', 'record', 'replay'),
  scrub: callable,
  speed: finiteAmount,
}

const pathRule = rule(
  'a path, such as tapes/weather.json',
  (value) => typeof value === 'string' && value !== '',
)

/**
 * Records what a provider answers into a file, and replays it from there: the same reads, without a key and without a
 * network. The file has no header of any request, and nothing that looks like a key.
 *
 * @example
 * const tape = cassette('tapes/weather.json')
 * const agent = new Agent('openai:gpt-6-luna', { tools: [weather], connection: { fetch: tape } })
 * await agent.send('Weather in Oslo?')
 * await tape.done()
 */
export const cassette = (path: string, options: CassetteOptions = {}): Cassette => {
  checkValue('The path of a cassette', path, pathRule)
  checkOptions('The options of a cassette', options, rules)
  const { mode = 'auto', scrub, speed = 0 } = options
  const isReplay = mode === 'replay' || (mode === 'auto' && (hasTape(path) || isCi()))
  if (isReplay && !hasTape(path)) throw new ConfigurationError(missing(path, mode))
  const player = isReplay ? new TapePlayer(path, readTape(path)) : undefined
  const recorder = new TapeRecorder(path)

  const carry: typeof fetch = async (input, init) => {
    const outgoing = await readRequest(input, init)
    const request = tapedRequest(outgoing, scrub)
    if (player) return play(player.take(request), speed, outgoing.init.signal ?? undefined)
    return recorder.fetch(outgoing, request)
  }
  const done = async (): Promise<void> => (player ? player.assertUsed() : recorder.saved())
  return Object.assign(carry, { isReplay, done })
}

const isCi = (): boolean => !['', '0', 'false'].includes(process.env.CI ?? '')

const missing = (path: string, mode: string): string => {
  const why = mode === 'auto' ? ' (CI is set: nothing is recorded here)' : ''
  return `There is no tape at ${path}${why}. Record it on your machine with a key, with mode 'record', and commit it.`
}
