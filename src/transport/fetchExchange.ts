import type { ExchangeHandler, HttpRequest } from './exchange.ts'

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
