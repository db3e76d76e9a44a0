import { countingDriver } from '../countingDriver.mjs'
import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'

/** Steps whose mean is taken, up to the one that is asked for. */
const span = 8

/** Measures the time of a step, and what it writes, early in a long run and late. */
export const longRun = async ({ open, chunks, steps }) => {
  const counts = countingDriver()
  const contender = await open({ driver: counts.open })
  const now = () => ({ wall: performance.now(), ...counts.now() })
  const begun = new Map()
  const measured = {}
  let step = 0
  const onMessages = (messages) => {
    for (const { role } of messages) {
      if (role !== 'model') continue
      step += 1
      for (const mark of steps) {
        if (step === mark - span) begun.set(mark, now())
        if (step === mark) Object.assign(measured, between(begun.get(mark), now(), mark))
      }
    }
  }
  checkText(await contender.ask(prompt, { onMessages }), chunks)
  await contender.close?.()
  return measured
}

/** The means of a step, and of a transaction: a checkpoint, or what was shown since the last one. */
const between = (before, after, mark) => {
  const commits = after.commits - before.commits
  return {
    [`step${mark}`]: (after.wall - before.wall) / span,
    [`commits${mark}`]: commits / span,
    [`given${mark}`]: (after.given - before.given) / commits,
    [`written${mark}`]: (after.written - before.written) / commits / 1024,
    [`time${mark}`]: (after.ms - before.ms) / commits,
  }
}
