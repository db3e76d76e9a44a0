import { z } from 'zod'
import { Chat } from '../../src/agent/Chat.ts'
import type { AnyRun } from '../../src/agent/Run.ts'
import { StatewireError } from '../../src/messages/errors.ts'
import type { ChatResult, PendingApproval } from '../../src/messages/result.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import type { World } from './walkWorld.ts'

// What a user of a chat does, at random.

export const schema = z.object({ n: z.number() })

/** The chat as it is now: it may be stored and restored between two moves. */
export type Conversation = { chat: Chat; whenBusy: 'refuse' | 'queue' }

/** Something that was begun: when it is over, and how to end it. */
export type Begun = { over: Promise<unknown>; stop: () => void }

const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await undefined
}

/** A signal that is aborted already, soon, or only to end what hangs. */
const control = ({ random }: World): AbortController => {
  const controller = new AbortController()
  if (random.chance(0.1)) controller.abort()
  else if (random.chance(0.15)) void turns(random.below(60)).then(() => controller.abort('soon'))
  return controller
}

/** Whether the answer that waits is a typed one: it is resumed with its schema. */
const isTyped = ({ snapshot }: PendingApproval): boolean =>
  JSON.stringify(snapshot).includes('"outputSchema":{')

export const schemaFor = (pending: PendingApproval | undefined) =>
  pending && isTyped(pending) ? { schema } : {}

type Chunks = AsyncIterableIterator<ChatResult<unknown>>

/** Reads a stream: to its end, or leaves it; decides on what waits inside the loop, or does not. */
const read = async (
  world: World,
  talk: Conversation,
  chunks: Chunks,
  run: () => AnyRun | undefined,
): Promise<void> => {
  const { random } = world
  const leaveAfter = random.chance(0.25) ? random.below(6) : Number.POSITIVE_INFINITY
  let count = 0
  for await (const { pendingApproval } of chunks) {
    if (count++ === leaveAfter) break
    if (!pendingApproval) continue
    const held = run()
    if (held && random.chance(0.6)) for (const each of held.pending) decide(world, held, each.id)
    else if (random.chance(0.4)) await resumeInside(world, talk)
    else if (random.chance(0.3)) break
  }
}

const resumeInside = async (world: World, { chat }: Conversation): Promise<void> => {
  const { pending } = chat
  if (!pending) return
  world.log('  … resumed inside the loop')
  const decisions = world.decisions(pending.calls)
  const options = { ...schemaFor(pending), signal: world.inner.signal }
  try {
    if (world.random.chance(0.5)) await chat.resume(decisions, options)
    else for await (const _ of chat.resumeStream(decisions, options));
  } catch (error) {
    if (!(error instanceof StatewireError)) throw error
  }
}

/** Decides on a call that a run waits for. */
export const decide = (world: World, run: AnyRun, id: string): void => {
  const call = run.pending.find((each) => each.id === id)
  if (!call) return
  const decision = world.decision(call)
  if (typeof decision === 'object' && 'result' in decision)
    run.answer(id, decision.result, { isError: decision.isError ?? false })
  else if (decision === false || (typeof decision === 'object' && !decision.approve)) run.reject(id)
  else run.approve(id, typeof decision === 'object' ? decision : {})
}

const moves: Record<string, (world: World, talk: Conversation) => Begun> = {
  send: (world, { chat }) => {
    const controller = control(world)
    return { over: chat.send('Go', { signal: controller.signal }), stop: () => controller.abort() }
  },
  sendFor: (world, { chat }) => {
    const controller = control(world)
    return { over: chat.sendFor('Go', schema, { signal: controller.signal }), stop: () => controller.abort() }
  },
  sendStream: (world, talk) => {
    const controller = control(world)
    let held: AnyRun | undefined
    const onStart = (run: AnyRun) => {
      held = run
    }
    const options = { signal: controller.signal, ...(world.random.chance(0.4) && { onStart }) }
    const chunks = talk.chat.sendStream('Go', options)
    return { over: read(world, talk, chunks, () => held), stop: () => controller.abort() }
  },
  sendStreamFor: (world, talk) => {
    const chunks = talk.chat.sendStreamFor('Go', schema)
    return { over: read(world, talk, chunks, () => undefined), stop: () => void chunks.return?.() }
  },
  leave: (world, { chat }) => {
    const chunks: Chunks = chat.pending
      ? chat.resumeStream(world.decisions(chat.pending.calls), schemaFor(chat.pending))
      : chat.sendStream('Go')
    const leave = async () => {
      const first = chunks.next()
      first.catch(() => {})
      await turns(world.random.below(40))
      await chunks.return?.()
      await first
    }
    return { over: leave(), stop: () => {} }
  },
  resume: (world, { chat }) => {
    const controller = control(world)
    const decisions = world.decisions(chat.pending?.calls ?? [])
    const options = { signal: controller.signal, ...schemaFor(chat.pending) }
    return { over: chat.resume(decisions, options), stop: () => controller.abort() }
  },
  resumeStream: (world, talk) => {
    const controller = control(world)
    const { pending } = talk.chat
    const options = { signal: controller.signal, ...schemaFor(pending) }
    const chunks = talk.chat.resumeStream(world.decisions(pending?.calls ?? []), options)
    return { over: read(world, talk, chunks, () => undefined), stop: () => controller.abort() }
  },
  steer: (_, { chat }) => {
    const steer = async () => chat.steer('And hurry.')
    return { over: steer(), stop: () => {} }
  },
}

const prompts = ['send', 'sendFor', 'sendStream', 'sendStreamFor', 'leave', 'steer']
const resumptions = ['resume', 'resume', 'resumeStream', 'leave', 'send']

/** One move, or several at once. */
export const moveChat = async (world: World, talk: Conversation): Promise<void> => {
  const { random } = world
  const count = random.chance(0.2) ? 2 + random.below(2) : 1
  const begun: Begun[] = []
  if (count > 1 && talk.chat.pending) world.isContested = true
  world.mayHang = random.chance(0.5)
  for (let each = 0; each < count; each += 1) {
    const name = random.pick(talk.chat.pending ? resumptions : prompts)
    world.log(`${each > 0 ? '& ' : ''}${name}`)
    const move = moves[name]
    if (move) begun.push(move(world, talk))
    await turns(random.below(5))
  }
  const stop = () => {
    world.inner.abort()
    world.inner = new AbortController()
    for (const each of begun) each.stop()
  }
  await Promise.all(begun.map(({ over }) => world.settled(over, stop)))
  world.mayHang = false
  checkChat(world, talk)
  if (random.chance(0.3)) restore(world, talk)
}

export const checkChat = (world: World, { chat }: Conversation): void => {
  world.check()
  const [problem] = validateHistory(chat.history)
  if (problem) throw new Error(`the history is not valid: ${problem.message}`)
}

const restore = (world: World, talk: Conversation): void => {
  world.log('stored and restored')
  talk.chat = Chat.from(world.agent, JSON.parse(JSON.stringify(talk.chat)), { whenBusy: talk.whenBusy })
}

/** After any moves, the chat can be brought to an end and continues with a plain send. */
export const endChat = async (world: World, talk: Conversation): Promise<void> => {
  world.isCalm = true
  const { chat } = talk
  for (let round = 0; chat.pending && round < 10; round += 1) {
    world.log('the end: all rejected')
    const decisions = Object.fromEntries(chat.pending.calls.map(({ id }) => [id, false]))
    await world.settled(chat.resume(decisions, schemaFor(chat.pending)))
    checkChat(world, talk)
  }
  world.log('the end: a plain send')
  const result = await world.settled(chat.send('And now?'))
  if (!result?.output.includes('calm')) throw new Error('a plain send does not work')
  checkChat(world, talk)
}
