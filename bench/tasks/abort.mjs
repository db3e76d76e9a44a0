import { median } from '../statistics.mjs'
import { prompt } from '../tool.mjs'

/** From the abort to the moment the provider sees its socket closed, in ms: the median of many. */
export const abort = async ({ open, origin, times }) => {
  const contender = await open({ pacing: 'paced', chunks: 1_000_000 })
  const closings = async (count) => (await fetch(`${origin}/closings/${count}`)).json()
  const before = (await closings(0)).length
  const waits = []
  for (let time = 1; time <= times; time += 1) {
    const controller = new AbortController()
    let pieces = 0
    let aborted
    const onText = () => {
      pieces += 1
      if (pieces !== 20) return
      aborted = process.hrtime.bigint()
      controller.abort()
    }
    await contender.ask(prompt, { onText, signal: controller.signal }).catch(() => {})
    const closed = BigInt((await closings(before + time)).at(-1))
    waits.push(Number(closed - aborted) / 1e6)
  }
  return { abort: median(waits) }
}
