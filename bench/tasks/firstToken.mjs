import { median } from '../statistics.mjs'
import { prompt } from '../tool.mjs'

const warmUps = 100

/** Measures, in ms, how much later the first text comes than at the reader and at the floor: turn by turn in one warm process. */
export const firstToken = async ({ open, times }) => {
  const contender = await open()
  const reader = await open({ as: 'reader' })
  const floor = await open({ as: 'floor' })
  const later = []
  const laterThanFloor = []
  for (let time = -warmUps; time < times; time += 1) {
    const wait = await firstText(contender)
    const atReader = await firstText(reader)
    const atFloor = await firstText(floor)
    if (time < 0) continue
    later.push(wait - atReader)
    laterThanFloor.push(wait - atFloor)
  }
  return { later: median(later), laterThanFloor: median(laterThanFloor) }
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
