import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'
import { cpuOf } from './cpu.mjs'
import { retained } from './heap.mjs'

/** Long streams in one warm process: what a chunk costs in them, against the same in a short one, and what it keeps. */
export const flat = async ({ open, chunks, sizes }) => {
  const perChunk = async (size, passes) => {
    const contender = await open({ chunks: size })
    const { cpu } = await cpuOf(async () => {
      for (let pass = 0; pass < passes; pass += 1) checkText(await contender.ask(prompt), size)
    })
    await contender.close?.()
    return cpu / (size * passes)
  }
  await perChunk(chunks, 10)
  const short = await perChunk(chunks, 10)
  const measured = {}
  for (const size of sizes) measured[`at${size}`] = (await perChunk(size, 1)) / short

  const largest = Math.max(...sizes)
  const contender = await open({ chunks: largest })
  measured.heap = (await retained(() => contender.ask(prompt))) / largest
  return measured
}
