import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'
import { cpuOf } from './cpu.mjs'

/** Asks again and again and tells the processor time of one chunk, round or request (`per`). */
export const stream = async ({ open, chunks, rounds = 0, warmUps, passes, per }) => {
  const contender = await open()
  for (let pass = 0; pass < warmUps; pass += 1) checkText(await contender.ask(prompt), chunks)
  globalThis.gc()
  const { cpu, wall } = await cpuOf(async () => {
    for (let pass = 0; pass < passes; pass += 1) await contender.ask(prompt)
  })
  await contender.close?.()
  const units = passes * { chunk: chunks, round: rounds + 1, request: 1 }[per]
  return { cpu: cpu / units, wall: wall / units }
}
