import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'
import { cpuOf } from './cpu.mjs'

/** Whole runs, some of them at the same time: how many a second. */
export const throughput = async ({ open, chunks, count, concurrency, warmUps }) => {
  const contender = await open()
  const runAll = async (total) => {
    let left = total
    const runSome = async () => {
      while (left > 0) {
        left -= 1
        checkText(await contender.ask(prompt), chunks)
      }
    }
    await Promise.all(Array.from({ length: concurrency }, runSome))
  }
  await runAll(warmUps)
  const { wall } = await cpuOf(() => runAll(count))
  await contender.close?.()
  return { perSecond: count / (wall / 1e6) }
}
