import { ConfigurationError } from '../messages/errors.ts'
import { copyJson, type JsonObject, type JsonValue } from '../messages/json.ts'
import type { Turn, TurnEvent } from './turn.ts'

/**
 * The page behind a request, for the `context` option. Its `body` cannot be trusted. Its functions work while an answer
 * of an agent is read; the context of stored runs is JSON, so it cannot hold them.
 *
 * @example uiMessageHandler(agent, { context: (request, chatId, page) => ({ user: userOf(request), page }) })
 */
export type Page = {
  /** The body of the request: of AG-UI, `state`, `context` and `forwardedProps` are in it. */
  body: JsonObject
  /**
   * Shows your own data: a `data-<name>` part of the AI SDK, a `CUSTOM` event of AG-UI. The same `id` replaces an
   * earlier part; a `transient` one reaches only `onData`.
   */
  sendData(name: string, data: JsonValue, options?: { id?: string; transient?: boolean }): void
  /** Shows another `state` to a page of AG-UI (`STATE_SNAPSHOT`). */
  setState(state: JsonValue): void
}

/** Names of parts that the handler makes itself. */
const taken: readonly string[] = ['state', 'progress', 'restart', 'approval', 'file', 'source']

/** Connects the page of a request with the turn that answers it. */
export class PageChannel {
  readonly page: Page
  #onEvent: (event: TurnEvent) => void = () => {}

  constructor(body: JsonObject) {
    this.page = {
      body,
      sendData: (name, data, options = {}) => {
        if (!/^[A-Za-z0-9_-]{1,64}$/.test(name) || taken.includes(name))
          throw new ConfigurationError(
            `"${name}" cannot be the name of data: use letters, digits, _ and -, and none of ${taken.join(', ')}.`,
          )
        this.#onEvent({ type: 'data', name, data: copyJson(data) as JsonValue, ...options })
      },
      setState: (state) => this.#onEvent({ type: 'pageState', state: copyJson(state) as JsonValue }),
    }
  }

  /** Shows data that is sent while a turn is followed, as part of the turn. */
  attach(turn: Turn): Turn {
    return {
      ...turn,
      follow: async (listener) => {
        this.#onEvent = listener.onEvent
        try {
          return await turn.follow(listener)
        } finally {
          this.#onEvent = () => {}
        }
      },
    }
  }
}
