import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'
import { cpuOf } from './cpu.mjs'

/** Asks again and again and measures the processor time of one chunk, round or request (`per`). */
export const stream = async ({ open, chunks, rounds = 0, warmUps, passes, per }) => {
  const contender = await open()
  const { answers = 1 } = contender
  // A contender that takes several answers for one question asks less often, for about as many of them.
  const timesOf = (count) => Math.ceil(count / answers)
  for (let pass = 0; pass < timesOf(warmUps); pass += 1) {
    checkText(await contender.ask(prompt), chunks, answers)
  }
  globalThis.gc()
  const { cpu, wall } = await cpuOf(async () => {
    for (let pass = 0; pass < timesOf(passes); pass += 1) await contender.ask(prompt)
  })
  await contender.close?.()
  const units = timesOf(passes) * answers * { chunk: chunks, round: rounds + 1, request: 1 }[per]
  return { cpu: cpu / units, wall: wall / units }
}
