import { countingDriver } from '../countingDriver.mjs'
import { prompt } from '../tool.mjs'

/** Steps whose mean is taken, up to the one that is asked for. */
const span = 8

/** One long run: what a checkpoint writes, and how long it takes, early and late in it. */
export const checkpoints = async ({ open, steps }) => {
  const counts = countingDriver()
  const contender = await open({ driver: counts.open })
  const measured = {}
  const begun = new Map()
  let step = 0
  const run = await contender.runs.start('agent', prompt)
  for await (const { chunk } of run.stream()) {
    const answers = chunk.messages.filter(({ role }) => role === 'model').length
    if (answers === 0) continue
    step += answers
    for (const mark of steps) {
      if (step === mark - span) begun.set(mark, counts.now())
      if (step === mark) Object.assign(measured, between(begun.get(mark), counts.now(), mark))
    }
  }
  await contender.close()
  return measured
}

const between = (before, after, mark) => {
  const commits = after.commits - before.commits
  return {
    [`given${mark}`]: (after.given - before.given) / commits,
    [`written${mark}`]: (after.written - before.written) / commits / 1024,
    [`time${mark}`]: (after.ms - before.ms) / commits,
  }
}
