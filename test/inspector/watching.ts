import { onTestFinished } from 'vitest'
import { type Inspector, type InspectorOptions, startInspector } from '../../src/inspector/index.ts'
import type {
  ActorRow,
  AttemptRow,
  FeedMessage,
  MomentRow,
  PastMoment,
  ToolRow,
} from '../../src/inspector/protocol.ts'

/** An inspector for one test. */
export const inspecting = async (options?: InspectorOptions): Promise<Inspector> => {
  const inspector = await startInspector(options)
  onTestFinished(() => inspector.close())
  return inspector
}

/** Everything that a page would know: the messages of its stream, put together. */
export class PageFeed {
  readonly messages: FeedMessage[] = []
  /** The traffic, byte for byte. */
  raw = ''
  actors = new Map<number, ActorRow>()
  moments: MomentRow[] = []
  attempts: AttemptRow[] = []
  tools = new Map<string, ToolRow>()
  watched: number | undefined
  #changed: () => void = () => {}

  take(message: FeedMessage): void {
    this.messages.push(message)
    for (const row of message.actors ?? []) this.actors.set(row.id, row)
    for (const id of message.gone ?? []) this.actors.delete(id)
    const { watched } = message
    if (watched?.isFirst) {
      this.moments = []
      this.attempts = []
      this.tools = new Map()
    }
    this.watched = watched?.id ?? this.watched
    for (const moment of watched?.moments ?? []) {
      if (this.moments.at(-1)?.seq === moment.seq) this.moments.pop()
      this.moments.push(moment)
    }
    for (const attempt of watched?.attempts ?? []) {
      const { text = '', thinking = '' } = this.attempts[attempt.index] ?? {}
      this.attempts[attempt.index] = {
        ...attempt,
        text: text + attempt.text,
        thinking: thinking + attempt.thinking,
      }
    }
    for (const tool of watched?.tools ?? []) this.tools.set(tool.callId, tool)
    if (!message.isBehind) this.#changed()
  }

  get text(): string {
    return this.attempts.map(({ text }) => text).join('')
  }

  get taken(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const [name, count] of this.moments.flatMap(({ taken }) => taken)) {
      counts.set(name, (counts.get(name) ?? 0) + count)
    }
    return counts
  }

  /** Resolves as soon as the condition holds. */
  until(holds: (feed: PageFeed) => boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const tooLong = setTimeout(() => {
        reject(new Error(`This never arrived. The last message: ${JSON.stringify(this.messages.at(-1))}`))
      }, 30_000)
      this.#changed = () => {
        if (!holds(this)) return
        clearTimeout(tooLong)
        resolve()
      }
      this.#changed()
    })
  }

  row(name: string): ActorRow | undefined {
    return [...this.actors.values()].find((row) => row.name === name)
  }
}

/** Listens as a page does, until the test ends. */
export const listen = async ({ url }: Pick<Inspector, 'url'>, actor?: number): Promise<PageFeed> => {
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  const path = actor === undefined ? 'events' : `events?actor=${actor}`
  const response = await fetch(`${url}${path}`, { signal: stop.signal })
  const feed = new PageFeed()
  const read = async () => {
    const decoder = new TextDecoder()
    let rest = ''
    for await (const piece of response.body ?? []) {
      const text = decoder.decode(piece, { stream: true })
      feed.raw += text
      const events = (rest + text).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) feed.take(JSON.parse(event.replace(/^data: /, '')))
    }
  }
  // The stream ends with the test or with the inspector.
  read().catch(() => {})
  return feed
}

export const momentOf = async (
  { url }: Pick<Inspector, 'url'>,
  actor: number,
  seq: number,
): Promise<PastMoment> =>
  (await fetch(`${url}moment?actor=${actor}&seq=${seq}`)).json() as Promise<PastMoment>

/** Sends a command as the page does. */
export const command = (
  { url }: Pick<Inspector, 'url'>,
  body: object,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(`${url}command`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(url).origin, ...headers },
    body: JSON.stringify(body),
  })
