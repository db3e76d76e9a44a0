/**
 * A random walk over the API: chats and handles, sends and streams, decisions inside and outside loops, aborts, stores,
 * queues. Each episode ends with a plain send that works, a history that is valid, and no promise left open.
 *
 * `PROOF=1` takes thousands of episodes; `PROOF_SEED` begins elsewhere, `PROOF_EPISODES=1` repeats one.
 */
import { expect, test } from 'vitest'
import { Chat } from '../../src/agent/Chat.ts'
import { dice } from '../proof/dice.ts'
import { expectNothingUnhandled } from '../proof/interrupting.ts'
import { type Conversation, endChat, moveChat } from './chatMoves.ts'
import { moveHandle } from './handleMoves.ts'
import { World } from './walkWorld.ts'

expectNothingUnhandled()

const { PROOF, PROOF_SEED = '1', PROOF_EPISODES = PROOF === undefined ? '300' : '10000' } = process.env

const chatEpisode = async (world: World): Promise<void> => {
  const whenBusy = world.random.pick(['refuse', 'queue'] as const)
  const talk: Conversation = { chat: new Chat(world.agent, { whenBusy }), whenBusy }
  world.log(whenBusy)
  const count = 1 + world.random.below(6)
  for (let move = 0; move < count; move += 1) await moveChat(world, talk)
  await endChat(world, talk)
}

const walk = async (episode: (world: World) => Promise<void>): Promise<number> => {
  const seeds = dice(Number(PROOF_SEED))
  let seed = Number(PROOF_SEED)
  let count = 0
  for (; count < Number(PROOF_EPISODES); count += 1) {
    const world = new World(seed)
    try {
      await episode(world)
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause)
      const again = `PROOF_SEED=${seed} PROOF_EPISODES=1 npm run proof -- test/api/walk.test.ts`
      throw new Error(`${problem}\n\n${world.story.join('\n')}\n\nrepeat with: ${again}`, { cause })
    }
    seed = seeds.seed()
  }
  return count
}

test('a chat survives whatever its user does', { timeout: 3_600_000 }, async () => {
  expect(await walk(chatEpisode)).toBe(Number(PROOF_EPISODES))
})

test('a run survives whatever its holder does', { timeout: 3_600_000 }, async () => {
  expect(await walk(moveHandle)).toBe(Number(PROOF_EPISODES))
})
