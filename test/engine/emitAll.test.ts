import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { type AnyActor, type AnyActorScope, createActor, createMachine } from 'xstate'
import { emitAll } from '../../machines/interpreter/emitAll.ts'

/** An actor, and what it emits with. */
const emitter = (): { actor: AnyActor; emit: (...types: string[]) => void } => {
  const actor: AnyActor = createActor(createMachine({})).start()
  const { _actorScope: scope } = actor as unknown as { _actorScope: AnyActorScope }
  return {
    actor,
    emit: (...types) =>
      emitAll(
        scope,
        types.map((type) => ({ type })),
      ),
  }
}

/** What XState's own `emit` does with the same listeners, to compare with. */
const plain = (): ReturnType<typeof emitter> => {
  const { actor } = emitter()
  const { _actorScope: scope } = actor as unknown as { _actorScope: AnyActorScope }
  return {
    actor,
    emit: (...types) => {
      for (const type of types) scope.emit({ type })
    },
  }
}

describe.each([
  ['emitAll', emitter],
  ['XState', plain],
])('%s', (_, make) => {
  test('tells all listeners, those of a type first', () => {
    const { actor, emit } = make()
    const heard: string[] = []
    actor.on('*', ({ type }) => heard.push(`*${type}`))
    emit('a')
    actor.on('a', ({ type }) => heard.push(type))
    emit('a', 'b')
    expect(heard).toEqual(['*a', 'a', '*a', '*b'])
  })

  test('tells nobody where nobody listens', () => {
    const { actor, emit } = make()
    actor.on('other', () => expect.unreachable())
    emit('a')
  })

  test('tells a listener nothing after it left', () => {
    const { actor, emit } = make()
    const heard: string[] = []
    const listening = actor.on('*', ({ type }) => {
      heard.push(type)
      if (type === 'b') listening.unsubscribe()
    })
    emit('a', 'b', 'c')
    expect(heard).toEqual(['a', 'b'])
  })

  test('tells a listener that comes meanwhile of the next event', () => {
    const { actor, emit } = make()
    const heard: string[] = []
    const first = actor.on('a', () => {
      first.unsubscribe()
      actor.on('a', () => heard.push('second'))
    })
    emit('a')
    expect(heard).toEqual([])
    emit('a')
    expect(heard).toEqual(['second'])
  })

  describe('with a listener that throws', () => {
    const handlers = process.listeners('uncaughtException')
    afterEach(() => {
      process.removeAllListeners('uncaughtException')
      for (const handler of handlers) process.on('uncaughtException', handler)
    })

    test('goes on, and leaves it to the process', async () => {
      const thrown: unknown[] = []
      process.removeAllListeners('uncaughtException')
      process.on('uncaughtException', (error) => thrown.push(error))
      const { actor, emit } = make()
      const problem = new Error('in a listener')
      let heard = 0
      actor.on('a', () => {
        heard += 1
        throw problem
      })
      emit('a', 'a')
      expect(heard).toBe(2)
      await setTimeout(20)
      expect(thrown).toEqual([problem, problem])
    })
  })
})
