import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'
import { cpuOf } from './cpu.mjs'
import { peakOf } from './heap.mjs'

/** Many streams at once: processor time of a chunk, and the most memory the process needed. */
export const crowd = async ({ open, chunks, streams, warmUps }) => {
  const contender = await open()
  for (let warmUp = 0; warmUp < warmUps; warmUp += 1) checkText(await contender.ask(prompt), chunks)
  let results
  let cpu
  const peak = await peakOf(async () => {
    ;({ cpu } = await cpuOf(async () => {
      results = await Promise.all(Array.from({ length: streams }, () => contender.ask(prompt)))
    }))
  })
  for (const result of results) checkText(result, chunks)
  await contender.close?.()
  return { cpu: cpu / (streams * chunks), ...peak }
}
