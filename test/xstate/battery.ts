/** Everything an agent does, as a program: it prints what happened, so that two copies of XState can be compared. */
import { batteryOfActors } from './batteryOfActors.ts'
import { batteryOfOrchestrators } from './batteryOfOrchestrators.ts'
import { batteryOfRuns } from './batteryOfRuns.ts'
import { insides } from './insides.ts'
import { plainXState } from './plainXState.ts'

/** One run: what it gives is compared. */
type Play = () => Promise<unknown>

/** What a child process prints. */
export type Report = {
  /** What XState does without us. */
  plain: unknown
  /** What can be seen of its inside. */
  insides: string[]
  /** The reports of all runs, by the name of the run. */
  runs: Record<string, unknown>
  /** Errors that were not caught. */
  uncaught: string[]
}

/** Far more than any run needs: without it a run that hangs would end the process without a word. */
const patienceMs = 15_000
let hanging = 0

const played = async (name: string, play: Play): Promise<unknown> => {
  // Where two runs hang, the others will, too: waiting for all of them is of no use.
  if (hanging === 2) return { hangs: 'probably' }
  let patience: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    const abandon = () => {
      hanging += 1
      resolve({ hangs: name })
    }
    patience = setTimeout(abandon, patienceMs)
  })
  try {
    return await Promise.race([play(), late])
  } catch (thrown) {
    process.stderr.write(`${name}: ${thrown instanceof Error ? thrown.stack : thrown}\n`)
    return { threw: String(thrown) }
  } finally {
    clearTimeout(patience)
  }
}

const uncaught: string[] = []
process.on('uncaughtException', (thrown) => {
  process.stderr.write(`Uncaught: ${thrown.stack}\n`)
  uncaught.push(String(thrown))
})

// Jitter must be the same each time.
Math.random = () => 0.5

const plain = await played('plain XState', plainXState)
const report: Report = { plain, insides: insides(), runs: {}, uncaught }
const plays: Record<string, Play> = { ...batteryOfRuns, ...batteryOfActors, ...batteryOfOrchestrators }
for (const [name, play] of Object.entries(plays)) report.runs[name] = await played(name, play)
// What is reported late still counts.
await new Promise((resolve) => setTimeout(resolve, 5))
// Made-up ids, and the questions that begin with one, are new each time: what counts is which of them are the same.
const made = new Map<string, string>()
const numbered = (id: string): string => made.get(id) ?? made.set(id, `id ${made.size}`).get(id) ?? id
const madeUp = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.[0-9a-z]{8,14})?/g
const text = JSON.stringify(report).replace(madeUp, numbered)
// A run that hangs must not keep the process.
process.stdout.write(text, () => process.exit())
