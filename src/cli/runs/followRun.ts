import type { DurableChunk, DurableRun, RunInfo } from '../../durable/index.ts'

/** The chunks of a run from a cursor on, past waits that are over, until the run ends or waits. Returns its status then. */
export async function* followRun(
  run: DurableRun,
  options: { after?: string; signal?: AbortSignal },
): AsyncGenerator<{ cursor: string; chunk: DurableChunk }, RunInfo> {
  let { after } = options
  for (;;) {
    let waited: DurableChunk['pendingApproval']
    const { signal } = options
    const reading = { ...(after !== undefined && { after }), ...(signal && { signal }) }
    for await (const shown of run.stream(reading)) {
      after = shown.cursor
      waited = shown.chunk.pendingApproval
      yield shown
    }
    const info = await run.info()
    const isPast = waited && !(info.status === 'waiting' && isSameWait(waited, info))
    if (!isPast || signal?.aborted) return info
  }
}

const isSameWait = ({ calls }: NonNullable<DurableChunk['pendingApproval']>, { pending }: RunInfo): boolean =>
  calls.length === pending.length && calls.every(({ id }, at) => pending[at]?.id === id)
