import type { ExchangeHandler } from './exchange.ts'

type Inflating = Omit<ExchangeHandler, 'head'> & { close(): void }

const known = new Set(['gzip', 'x-gzip', 'deflate', 'br'])

/**
 * Inflates a body that was compressed although the request asked for `identity`, as some proxies do. Undefined for an
 * unknown encoding.
 */
export const inflating = (encoding: string, handler: ExchangeHandler): Inflating | undefined => {
  if (!known.has(encoding)) return undefined
  // Taken at run time, so that no bundle without Node's modules has to carry it.
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
  /** Nothing catches what is thrown inside a callback of a stream: it would end the process. */
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
