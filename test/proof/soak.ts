import { expectContinuable } from '../portability/wireRules.ts'
import { dice } from './dice.ts'
import { type FaultServer, faultServer } from './faultServer.ts'
import { checkAlways, checkForecast } from './invariants.ts'
import { LeapClock } from './leapClock.ts'
import { agentFor, type Observed, observe, turns } from './observedRun.ts'
import type { Ran } from './recordedTools.ts'
import { farewellOf, type Plan, planOf } from './soakPlan.ts'
import { report, slope, type Vitals, vitals } from './vitals.ts'
import { Watchers } from './watchers.ts'

// Random runs: a random answer in random pieces, with random faults, read by a user who may be slow and may leave at any
// time, and watched by inspectors whose pages come and go.

export type SoakOptions = {
  seed: number
  minutes: number
  /** At most so many runs. */
  runs?: number
  report?: (line: string) => void
}

const timers = (): number => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length

const settled = async (isSettled: () => boolean): Promise<boolean> => {
  for (let tries = 0; tries < 6000 && !isSettled(); tries += 1) {
    if (tries < 20) await turns(1)
    else await new Promise((next) => setTimeout(next, 5))
  }
  return isSettled()
}

/** A run that hangs is a broken promise as well. */
const within = <T>(ms: number, promise: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the run hangs for ${ms} ms`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

const soakOnce = async (plan: Plan, server: FaultServer, watchers: Watchers): Promise<void> => {
  const clock = new LeapClock()
  const script = server.script(plan.answers, (place) => {
    // An answer that is whole keeps no reader waiting, however long its connection stays open.
    if (!plan.attempts[place]?.isComplete) clock.leap()
  })
  const ran: Ran[] = []
  const before = timers()
  const seen = await within(
    60_000,
    observe(plan, agentFor(plan, script.url, ran, clock, watchers.inspect), ran),
  )
  const requests = script.bodies.length
  await turns(2)
  checkAlways(plan, seen, requests)
  checkForecast(plan, seen, requests)
  if (!(await settled(() => server.open === 0))) throw new Error(`${server.open} connections stay open`)
  if (!(await settled(() => timers() <= before))) throw new Error(`${timers() - before} timers are left`)
  if (clock.size > 0) throw new Error(`${clock.size} waits of the run are left`)
  await checkContinuable(plan, seen, server, watchers)
  // A request that was on its way when the run was left may still arrive.
  const late = script.bodies.length - requests
  if (late > (plan.interruption === 'none' ? 0 : 1)) throw new Error('a request was sent after the end')
}

/** Whatever an interrupted run leaves, the provider would take the next question after it. */
const checkContinuable = async (
  plan: Plan,
  { result, outcome }: Observed,
  server: FaultServer,
  { inspect }: Watchers,
): Promise<void> => {
  if (!result || outcome === 'complete') return
  const { protocol, contentType } = plan.subject
  const body = farewellOf(protocol).body
  const script = server.script([{ headers: { 'content-type': contentType }, body }])
  await agentFor(plan, script.url, [], new LeapClock(), inspect).send('And now?', {
    history: result.messages,
  })
  expectContinuable(protocol, script.bodies[0] ?? {})
}

const describePlan = ({ carrier, way, interruption, after, retry, pause, isWatched, story }: Plan): string =>
  [
    `carried by ${carrier}, used as ${way}, interrupted by ${interruption} after ${JSON.stringify(after)}`,
    `retry ${JSON.stringify(retry)}, ${pause} turns for each chunk, ${isWatched ? 'watched' : 'not watched'}`,
    ...story.map((line, at) => `answer ${at + 1}: ${line}`),
  ].join('\n')

/** A run that stayed would be five million bytes for a thousand of them. Below ten thousand runs, noise is larger. */
const checkFlat = (measured: readonly Vitals[]): void => {
  if (measured.length < 50) return
  const isFlat =
    slope(measured, 'heap') < 100_000 && slope(measured, 'handles') < 1 && slope(measured, 'listeners') < 1
  if (!isFlat) throw new Error(`Something grows: ${report(measured)}`)
}

/** Runs until the time is over; rejects with the seed of the first run that broke a promise. */
export const soak = async ({
  seed,
  minutes,
  runs = Number.POSITIVE_INFINITY,
  report: print,
}: SoakOptions) => {
  const server = await faultServer()
  const watchers = await Watchers.open()
  const measured: Vitals[] = []
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
  const seeds = dice(seed)
  const endsAt = Date.now() + minutes * 60_000
  let count = 0
  let reportedAt = Date.now()
  try {
    for (let next = seed; count < runs && Date.now() < endsAt; next = seeds.seed()) {
      const plan = planOf(next)
      try {
        if (count % 200 === 0) {
          await watchers.change()
          measured.push(await vitals(count))
        }
        await soakOnce(plan, server, watchers)
        if (unhandled.length > 0) throw new Error('something was rejected unhandled', { cause: unhandled[0] })
      } catch (cause) {
        const problem = cause instanceof Error ? cause.message : String(cause)
        throw new Error(
          `${problem}\n\n${describePlan(plan)}\n\nrepeat with: SOAK_SEED=${next} SOAK_RUNS=1 npm run soak`,
          { cause },
        )
      }
      count += 1
      if (print && Date.now() - reportedAt > 5000) {
        reportedAt = Date.now()
        print(`seed ${seed}: ${count} runs, ${Math.max(0, Math.round((endsAt - reportedAt) / 1000))} s to go`)
      }
    }
  } finally {
    process.off('unhandledRejection', note)
    process.off('uncaughtException', note)
    await watchers.close()
    await server.close()
  }
  print?.(report(measured))
  checkFlat(measured)
  return count
}
