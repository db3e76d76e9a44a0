import type { Dispatcher } from 'undici'
import { UnknownEncoding } from './networkError.ts'

/** Bytes in memory of their own, as `fetch` takes them. In TypeScript before 5.7 their type has no parameter. */
export type Bytes = Uint8Array & { readonly buffer: ArrayBuffer }

export type HttpRequest = {
  method: 'GET' | 'POST'
  url: URL
  headers: Record<string, string>
  /** Text for all but uploads. */
  body?: string | Bytes
}

/** Reads one response header by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined

export type ResponseHead = { status: number; statusText: string; header: HeaderReader }

/** An answer with its body read, up to a limit. */
export type WholeAnswer = ResponseHead & { body: string }

export const isSuccess = ({ status }: ResponseHead): boolean => status >= 200 && status < 300

/** The events of an exchange. Exactly one of `end` and `fail` comes last, and never before `exchange` returned. */
export type ExchangeHandler = {
  head(head: ResponseHead): void
  data(bytes: Uint8Array): void
  /** All data of one network read has been given. */
  readDone(): void
  end(): void
  fail(error: unknown): void
}

/** The right to use a dispatcher for one exchange. A dispatcher of the user looks after its connections itself. */
export type Lease = {
  dispatcher: Dispatcher
  /** The exchange is complete, its connection may serve the next one. */
  giveBack?(): void
  /** Closes the connection at once. */
  discard?(): void
}

type BodyHandler = Omit<ExchangeHandler, 'head'> & { close?(): void }

/**
 * An exchange through undici's lowest entry, the cheapest per read. undici reports each HTTP chunk by itself, though
 * one network read often holds many: `readDone` is called once for all of them.
 */
export const dispatchExchange = (
  lease: () => Lease,
  { method, url, headers, body }: HttpRequest,
  handler: ExchangeHandler,
): (() => void) => {
  let leased: Lease | undefined
  let controller: Dispatcher.DispatchController | undefined
  let state: 'open' | 'over' | 'closed' = 'open'
  let failure: { error: unknown } | undefined
  let isReportDue = false
  let receiver: BodyHandler = handler

  const report = (): void => {
    isReportDue = false
    if (state === 'closed') return
    if (state === 'open') receiver.readDone()
    else if (failure) receiver.fail(failure.error)
    else receiver.end()
  }
  /** Reports after undici's own work on this read: it swallows what a receiver throws. */
  const reportSoon = (): void => {
    if (isReportDue) return
    isReportDue = true
    queueMicrotask(report)
  }
  const finish = (broken?: { error: unknown }): void => {
    if (state !== 'open') return
    state = 'over'
    failure = broken
    if (broken) leased?.discard?.()
    else leased?.giveBack?.()
    reportSoon()
  }

  const steps: Dispatcher.DispatchHandler = {
    onRequestStart(started) {
      controller = started
      if (state === 'closed') started.abort(new Error('closed'))
    },
    onResponseStart(started, status, responseHeaders, statusText = '') {
      if (state !== 'open' || status < 200) return
      const header = (name: string): string | undefined => {
        const value = responseHeaders[name]
        return Array.isArray(value) ? value.join(', ') : value
      }
      handler.head({ status, statusText, header })
      const encoding = header('content-encoding')?.trim().toLowerCase()
      if (!encoding || encoding === 'identity') return
      const inflater = inflating(encoding, handler)
      if (inflater) receiver = inflater
      else started.abort(new UnknownEncoding(encoding))
    },
    onResponseData(_, chunk) {
      if (state !== 'open') return
      receiver.data(chunk)
      reportSoon()
    },
    onResponseEnd() {
      finish()
    },
    onResponseError(_, error) {
      finish({ error })
    },
  }

  const start = (): void => {
    if (state === 'closed') return
    try {
      leased = lease()
      const options = {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers,
        body: body ?? null,
        // The statechart owns all timers: a model may think for longer than any default here.
        headersTimeout: 0,
        bodyTimeout: 0,
      }
      leased.dispatcher.dispatch(options, steps)
    } catch (error) {
      finish({ error })
    }
  }

  // Some dispatchers answer before `dispatch` returns; the caller must know how to close by then.
  queueMicrotask(start)
  return () => {
    if (state === 'closed') return
    const wasOpen = state === 'open'
    state = 'closed'
    receiver.close?.()
    if (!wasOpen) return
    if (leased?.discard) leased.discard()
    else controller?.abort(new Error('closed'))
  }
}

type Inflating = Omit<ExchangeHandler, 'head'> & { close(): void }

const known = new Set(['gzip', 'x-gzip', 'deflate', 'br'])

/**
 * Inflates a body that was compressed although the request asked for `identity`, as some proxies do. Undefined for an
 * unknown encoding.
 */
const inflating = (encoding: string, handler: ExchangeHandler): Inflating | undefined => {
  if (!known.has(encoding)) return undefined
  // Loaded at run time, so that no bundle without Node's modules has to carry it.
  const zlib = process.getBuiltinModule('node:zlib')
  const flush = { flush: zlib.constants.Z_SYNC_FLUSH, finishFlush: zlib.constants.Z_SYNC_FLUSH }
  const brotliFlush = {
    flush: zlib.constants.BROTLI_OPERATION_FLUSH,
    finishFlush: zlib.constants.BROTLI_OPERATION_FLUSH,
  }
  const inflate = encoding === 'br' ? zlib.createBrotliDecompress(brotliFlush) : zlib.createUnzip(flush)
  let isOver = false
  let broken: { error: unknown } | undefined
  const finish = (report: () => void): void => {
    if (isOver) return
    isOver = true
    inflate.destroy()
    report()
  }
  /** Catches what a receiver throws: inside a callback of a stream it would end the process. */
  const safely = (report: () => void): void => {
    try {
      report()
    } catch (error) {
      isOver = true
      inflate.destroy()
      handler.fail(error)
    }
  }
  inflate.on('data', (bytes: Uint8Array) =>
    safely(() => {
      if (isOver) return
      handler.data(bytes)
      handler.readDone()
    }),
  )
  inflate.on('end', () => safely(() => finish(() => (broken ? handler.fail(broken.error) : handler.end()))))
  inflate.on('error', (error: Error) =>
    safely(() => finish(() => handler.fail(broken ? broken.error : error))),
  )
  return {
    data: (bytes) => void (isOver || inflate.write(bytes)),
    readDone: () => {},
    end: () => void (isOver || inflate.end()),
    // What came before the connection broke is still inflated and passed on.
    fail: (error) => {
      broken = { error }
      if (!isOver) inflate.end()
    },
    close: () => finish(() => {}),
  }
}

/** An exchange through a `fetch` of the caller's choice: other runtimes, test doubles, instrumented clients. */
export const fetchExchange = (
  fetch: typeof globalThis.fetch,
  { method, url, headers, body }: HttpRequest,
  handler: ExchangeHandler,
): (() => void) => {
  const abort = new AbortController()
  let isClosed = false
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined

  /** Ends the body as well: a fetch that wraps another may not pass its signal on. */
  const cancel = (): void => {
    abort.abort()
    reader?.cancel().catch(() => {})
  }

  const run = async (): Promise<void> => {
    const response = await fetch(url.href, {
      method,
      headers,
      redirect: 'manual',
      signal: abort.signal,
      ...(body !== undefined && { body }),
    })
    reader = response.body?.getReader()
    if (isClosed) return cancel()
    handler.head({
      status: response.status,
      statusText: response.statusText,
      header: (name) => response.headers.get(name) ?? undefined,
    })
    while (reader && !isClosed) {
      const { done, value } = await reader.read()
      if (isClosed) return
      if (done) break
      handler.data(value)
      handler.readDone()
    }
    if (isClosed) return
    isClosed = true
    handler.end()
  }

  run().catch((error: unknown) => {
    if (isClosed) return
    isClosed = true
    cancel()
    handler.fail(error)
  })
  return () => {
    if (isClosed) return
    isClosed = true
    cancel()
  }
}
