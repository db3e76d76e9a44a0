import { prompt } from '../tool.mjs'
import { heapUsed } from './heap.mjs'

/** Runs one after the other: the memory in use at some marks, and what each run of the second half added to it. */
export const growth = async ({ open, marks }) => {
  const contender = await open()
  const heaps = []
  for (let run = 1; run <= marks.at(-1); run += 1) {
    await contender.ask(prompt)
    if (marks.includes(run)) heaps.push(await heapUsed())
  }
  await contender.close?.()
  const from = (marks.length >> 1) - 1
  return {
    growth: (heaps.at(-1) - heaps[from]) / (marks.at(-1) - marks[from]),
    ...Object.fromEntries(marks.map((mark, index) => [`after${mark}`, heaps[index] / 2 ** 20])),
  }
}
