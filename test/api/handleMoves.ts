import type { AnyRun } from '../../src/agent/Run.ts'
import { StatewireError } from '../../src/messages/errors.ts'
import { isFatal, validateHistory } from '../../src/messages/validateHistory.ts'
import { decide, schema } from './chatMoves.ts'
import type { World } from './walkWorld.ts'

// The moves of a person who holds a run, at random.

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await undefined
}

const ignore = async (promise: Promise<unknown>): Promise<void> => {
  try {
    await promise
  } catch (error) {
    if (!(error instanceof StatewireError)) throw error
  }
}

/** Reads the run, and decides inside the loop or not. */
const loop = async (world: World, run: AnyRun): Promise<void> => {
  const { random } = world
  const leaveAfter = random.chance(0.2) ? random.below(6) : Number.POSITIVE_INFINITY
  let count = 0
  for await (const { pendingApproval } of run) {
    if (count++ === leaveAfter) break
    if (pendingApproval && random.chance(0.6)) decideOnSome(world, run)
  }
}

const decideOnSome = (world: World, run: AnyRun): void => {
  for (const { id } of run.pending) if (world.random.chance(0.8)) decide(world, run, id)
}

/** Some of what can be done to a run from outside. */
const disturb = async (world: World, run: AnyRun): Promise<void> => {
  const { random } = world
  await turns(random.below(80))
  const kind = random.below(6)
  if (kind === 0) run.abort('enough')
  else if (kind === 1) await ignore((async () => run.steer('And hurry.'))())
  else if (kind === 2) decideOnSome(world, run)
  else if (kind === 3) run.snapshot()
}

const listen = (world: World, run: AnyRun): void => {
  const { random } = world
  if (!random.chance(0.4)) return
  world.log('  … with a listener')
  const types = ['tool.approval', 'tool.external'] as const
  const isDeciding = random.chance(0.7)
  for (const type of types) {
    const subscription = run.on(type, ({ callId }) => {
      if (isDeciding) decide(world, run, callId)
      else setImmediate(() => subscription.unsubscribe())
    })
  }
}

/** A run from its start to its end, or to the point where no decision is made any more. */
export const moveHandle = async (world: World): Promise<void> => {
  const { random, agent } = world
  world.mayHang = true
  const options = random.chance(0.3) ? { schema } : {}
  world.log(`start ${'schema' in options ? 'for a value' : ''}`)
  let run: AnyRun = agent.start('Go', options)
  for (let segments = 0; segments < 6; segments += 1) {
    listen(world, run)
    const begun = [ignore(run.result), disturb(world, run)]
    if (random.chance(0.6)) begun.push(ignore(loop(world, run)))
    if (random.chance(0.2)) begun.push(ignore(loop(world, run)))
    for (const each of begun) await world.settled(each, () => run.abort('it hangs'))
    world.check()
    // It is over, or was decided on meanwhile and goes on.
    if (run.pending.length === 0) continue
    checkMessages(run)
    if (random.chance(0.3)) run = restored(world, run, options)
    else decideOnSome(world, run)
  }
  run.abort('the end')
  await world.settled(ignore(run.result))
  world.mayHang = false
  checkMessages(run)
}

const restored = (world: World, run: AnyRun, options: object): AnyRun => {
  world.log('  … stored and started again')
  const decisions = world.decisions(run.pending)
  // A mistake in the decisions ends the new run, not the old one: nothing of them counts.
  if ('unknown' in decisions) world.forget(Object.keys(decisions))
  return world.agent.start({ snapshot: run.snapshot(), decisions }, options)
}

/** Every call but those that wait has its result. */
const checkMessages = (run: AnyRun): void => {
  // Wrong decisions end a stored run before it goes on.
  if (run.pending.length === 0 && !['Complete', 'Failed', 'Aborted'].includes(run.state)) return
  const whole = run.pending.length > 0 ? run.messages.slice(0, -1) : run.messages
  const [problem] = validateHistory(whole).filter((each) => isFatal(each) || each.code === 'notAlternating')
  if (problem) throw new Error(`the messages of the run are not valid: ${problem.message}`)
}
