import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

// What a process holds, measured again and again: a leak is a slope.

setFlagsFromString('--expose-gc')
const collectGarbage: () => void = runInNewContext('gc')

/** What the process held after so many runs. */
export type Vitals = { runs: number; heap: number; handles: number; listeners: number }

const listenersOf = (emitter: NodeJS.EventEmitter): number =>
  emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0)

export const vitals = async (runs: number): Promise<Vitals> => {
  // What a finished task still holds is free in the next one.
  for (let round = 0; round < 4; round += 1) {
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
  }
  return {
    runs,
    heap: process.memoryUsage().heapUsed,
    handles: process.getActiveResourcesInfo().length,
    listeners: listenersOf(process),
  }
}

/** Growth per thousand runs: the line that fits the second half best. Caches and compiled code fill up in the first. */
export const slope = (all: readonly Vitals[], of: 'heap' | 'handles' | 'listeners'): number => {
  const half = all.slice(Math.floor(all.length / 2))
  const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length
  const x = mean(half.map(({ runs }) => runs))
  const y = mean(half.map((each) => each[of]))
  const spread = half.reduce((sum, { runs }) => sum + (runs - x) ** 2, 0)
  if (spread === 0) return 0
  return (half.reduce((sum, each) => sum + (each.runs - x) * (each[of] - y), 0) / spread) * 1_000
}

export const report = (all: readonly Vitals[]): string => {
  const last = all.at(-1)
  if (!last) return 'nothing was measured'
  const kilobytes = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KB`
  return [
    `after ${last.runs} runs: heap ${kilobytes(last.heap)}, ${last.handles} handles, ${last.listeners} listeners;`,
    `each thousand runs add ${kilobytes(slope(all, 'heap'))} of heap,`,
    `${slope(all, 'handles').toFixed(2)} handles and ${slope(all, 'listeners').toFixed(2)} listeners`,
    `(${all.length} measurements)`,
  ].join(' ')
}
