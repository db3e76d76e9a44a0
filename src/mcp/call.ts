import { clockOf } from '../../machines/logic/systemTime.ts'
import { ToolExecutionError } from '../messages/errors.ts'
import { copyJson, isJsonObject, type JsonObject, type JsonValue, stableJson } from '../messages/json.ts'
import { dataPart, linkPart, type Part, type TextPart, textPart } from '../messages/messages.ts'
import { type Clock, longestTimeoutMs, systemClock } from '../model/clock.ts'
import type { ToolContext } from '../tools/tool.ts'
import { onAbort } from '../transport/onAbort.ts'
import type { CallOptions } from './sdk.ts'

/** A call that is on its way. */
export type ActiveCall = { context: ToolContext; timer: CallTimer }

/** Sends a call to a server, again where that is safe, and gives the raw answer. */
type SendCall = (options: CallOptions, call: ActiveCall) => Promise<unknown>

/** Runs a call: limits its time, passes on its progress, and cancels it when the run is aborted. */
export const runCall = (context: ToolContext, limits: TimeLimits, send: SendCall): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const controller = new AbortController()
    // A client that ignores its signal is not waited for.
    const end = (problem: string) => {
      reject(new ToolExecutionError(`${problem}; whether it took effect is unknown.`))
      controller.abort(problem)
    }
    const clock = context.self ? clockOf(context.self) : systemClock
    const timer = new CallTimer(limits, clock, end)
    const stopListening = onAbort(context.signal, () =>
      end('The run was aborted while this tool was running'),
    )
    const onprogress = (progress: unknown) => {
      timer.renew()
      context.report(progressOf(progress))
    }
    send({ signal: controller.signal, timeout: longestTimeoutMs, onprogress }, { context, timer })
      .then(resultContent)
      .then(resolve, reject)
      .finally(() => {
        timer.stop()
        stopListening()
      })
  })

const longestMessage = 1000

/** The progress that a server reports, checked. */
const progressOf = (given: unknown) => {
  const { progress, total, message } = Object(given)
  return {
    ...(typeof progress === 'number' && { progress }),
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message: message.slice(0, longestMessage) }),
  }
}

export type TimeLimits = {
  /** The longest time without progress. */
  idleMs: number
  /** The longest time in all. */
  totalMs: number
}

/** Limits the time of a call. Progress renews the time, up to a total, and it is paused while a person is asked. */
class CallTimer {
  readonly #limits: TimeLimits
  readonly #clock: Clock
  readonly #onEnd: (problem: string) => void
  /** The rest of the total, at the last start. */
  #leftMs: number
  #startedAt = 0
  #timer: unknown
  #isOver = false

  constructor(limits: TimeLimits, clock: Clock, onEnd: (problem: string) => void) {
    this.#limits = limits
    this.#clock = clock
    this.#onEnd = onEnd
    this.#leftMs = limits.totalMs
    this.#start()
  }

  /** Renews the time, because the server has reported progress. */
  renew(): void {
    if (this.#timer === undefined) return
    this.pause()
    this.#start()
  }

  pause(): void {
    if (this.#timer === undefined) return
    this.#clock.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#leftMs -= this.#clock.now() - this.#startedAt
  }

  resume(): void {
    if (this.#timer === undefined && !this.#isOver) this.#start()
  }

  stop(): void {
    this.#isOver = true
    this.pause()
  }

  #start(): void {
    const { idleMs, totalMs } = this.#limits
    const ms = Math.max(0, Math.min(idleMs, this.#leftMs, longestTimeoutMs))
    this.#startedAt = this.#clock.now()
    this.#timer = this.#clock.setTimeout(() => {
      this.stop()
      this.#onEnd(
        this.#leftMs <= 0 && idleMs < totalMs
          ? `The tool did not finish within ${totalMs} ms`
          : `The tool was silent for ${idleMs} ms`,
      )
    }, ms)
  }
}

/**
 * The answer of a server as a tool's result: texts, images, sounds and files as parts. Throws an error of the server, so
 * that the model sees it as one.
 */
export const resultContent = (given: unknown): unknown => {
  const answer = copyJson(given ?? null)
  if (!isJsonObject(answer)) throw new ToolExecutionError('The MCP server did not send a result.')
  const content = Array.isArray(answer.content) ? answer.content : []
  const parts = [...content.map(partOf), ...structured(answer, content)]
  if (answer.isError === true) throw new ToolExecutionError(textIn(parts) || 'The tool failed.')
  return parts.length === 0 ? null : parts
}

const textIn = (parts: readonly Part[]): string =>
  parts.flatMap((part) => (part.type === 'text' ? part.text : [])).join('\n')

/**
 * Structured content that the ordinary content does not repeat, as JSON or as the value of its only field: the model
 * would miss it.
 */
const structured = ({ structuredContent }: JsonObject, content: readonly JsonValue[]): TextPart[] => {
  if (structuredContent === undefined) return []
  const inner = isJsonObject(structuredContent) ? Object.values(structuredContent) : []
  const wanted = [structuredContent, ...(inner.length === 1 ? inner : [])].map(stableJson)
  const present = [content, ...content.flatMap(readingsOf)].map(stableJson)
  return present.some((each) => wanted.includes(each)) ? [] : [textPart(JSON.stringify(structuredContent))]
}

/** The readings of a text: the text itself, and its value if it is JSON. */
const readingsOf = (block: JsonValue): JsonValue[] => {
  if (!isJsonObject(block) || typeof block.text !== 'string') return []
  try {
    return [block.text, copyJson(JSON.parse(block.text))]
  } catch {
    return [block.text]
  }
}

const partOf = (block: JsonValue): Part => {
  if (!isJsonObject(block)) return textPart(JSON.stringify(block))
  const { type, text, data, mimeType } = block
  if (type === 'text' && typeof text === 'string') return textPart(text)
  if ((type === 'image' || type === 'audio') && typeof data === 'string' && typeof mimeType === 'string')
    return fileOf(mimeType, data)
  if (type === 'resource_link') return linkOf(block)
  if (type === 'resource' && isJsonObject(block.resource)) return resourceOf(block.resource)
  // A newer kind of content: the model may understand it.
  return textPart(JSON.stringify(block))
}

/** Checks in linear time, for any value. */
const isBase64 = (data: string): boolean => /^[A-Za-z0-9+/_-]*={0,2}$/.test(data)

const fileOf = (mimeType: string, data: string, name?: string): Part =>
  isBase64(data)
    ? dataPart(mimeType, data, name)
    : textPart(`[${name ?? mimeType}: the server did not send it as base64.]`)

const resourceOf = ({ uri, mimeType, text, blob }: JsonObject): Part => {
  const name = typeof uri === 'string' ? uri : 'resource'
  const type = typeof mimeType === 'string' ? mimeType : 'application/octet-stream'
  // An app is for the page that shows the result: the model gets only files that it can read.
  if (typeof text === 'string' && /^ui:/i.test(name))
    return dataPart(type, new TextEncoder().encode(text), name)
  if (typeof text === 'string') return textPart(`[${name}]\n${text}`)
  return typeof blob === 'string' ? fileOf(type, blob, name) : textPart(`[${name}]`)
}

/** A link on the web, which models can follow. For any other resource the model sees its name and address. */
const linkOf = ({ uri, name, mimeType, description }: JsonObject): Part => {
  const url = typeof uri === 'string' ? uri : ''
  const called = typeof name === 'string' ? name : undefined
  if (/^https?:\/\//i.test(url) && URL.canParse(url))
    return linkPart(url, typeof mimeType === 'string' ? mimeType : undefined, called)
  const known = [called, url, mimeType, description].filter((each) => typeof each === 'string' && each !== '')
  return textPart(`[resource: ${known.join(', ')}]`)
}
