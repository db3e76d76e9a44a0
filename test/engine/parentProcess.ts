/** Restores the parent that the first process has stored, decides what waits, and prints how its agents end. */
import { readFile } from 'node:fs/promises'
import { createActor, SimulatedClock, waitFor } from 'xstate'
import { parentAt } from './parentWorld.ts'

const [file = ''] = process.argv.slice(2)
const snapshot = JSON.parse(await readFile(file, 'utf8'))
const clock = new SimulatedClock()
const parent = createActor(parentAt('after'), { snapshot, clock })
parent.start()
parent.send({ type: 'decide' })
const isBackingOff = ({ children: { BackingOff: child } }: typeof first) =>
  child?.getSnapshot().status === 'active'
const first = await waitFor(parent, ({ value }) => JSON.stringify(value).split('Asking').length === 2)
// The pause before a retry is over when all others have ended.
if (!isBackingOff(first)) throw new Error('The retry did not wait for its time.')
clock.increment(100_000)
const { context } = await waitFor(parent, ({ status }) => status === 'done')
const ends = Object.entries(context.outputs).map(([name, { status, output }]) => [
  name,
  `${status}: ${output}`,
])
console.log(JSON.stringify({ ends: Object.fromEntries(ends), errors: context.errors }))
