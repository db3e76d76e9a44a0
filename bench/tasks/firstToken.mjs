import { median } from '../statistics.mjs'
import { prompt } from '../tool.mjs'

/** How much later than at the floor the first text comes, in ms: turn by turn in one warm process. */
export const firstToken = async ({ open, times }) => {
  const floor = await open({ as: 'floor' })
  const contender = await open()
  const waits = []
  for (let time = -100; time < times; time += 1) {
    const difference = (await firstText(contender)) - (await firstText(floor))
    if (time >= 0) waits.push(difference)
  }
  return { later: median(waits) }
}

const firstText = async (contender) => {
  const begin = performance.now()
  let wait
  const onText = () => {
    wait ??= performance.now() - begin
  }
  await contender.ask(prompt, { onText })
  return wait
}
