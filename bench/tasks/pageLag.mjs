import { monitorEventLoopDelay } from 'node:perf_hooks'
import { prompt } from '../tool.mjs'
import { checkText } from './checkText.mjs'

/** Milliseconds between two looks of the monitor: it counts them as delay. */
const resolution = 1

/**
 * A page is opened while the answer of a long run streams: the longest time for which the loop of the watched process
 * was blocked before that, and from then on.
 */
export const pageLag = async ({ open, chunks }) => {
  const contender = await open()
  // Once without being measured: compilers and collectors are not what this is about.
  checkText(await contender.ask(prompt), chunks)
  const delay = monitorEventLoopDelay({ resolution })
  const longest = () => Math.max(0, delay.max / 1e6 - resolution)
  let texts = 0
  let before
  let opened
  const onText = () => {
    texts += 1
    if (texts === 1) {
      globalThis.gc()
      delay.enable()
      delay.reset()
    }
    if (texts !== Math.floor(chunks / 2)) return
    before = longest()
    delay.reset()
    opened = contender.openPage?.()
  }
  checkText(await contender.ask(prompt, { onText }), chunks)
  const after = longest()
  await opened
  await contender.close?.()
  return { before, after }
}
