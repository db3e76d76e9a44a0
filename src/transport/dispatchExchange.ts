import type { Dispatcher } from 'undici'
import type { Lease } from './connections.ts'
import type { ExchangeHandler, HttpRequest } from './exchange.ts'
import { inflating } from './inflating.ts'
import { UnknownEncoding } from './networkError.ts'

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
