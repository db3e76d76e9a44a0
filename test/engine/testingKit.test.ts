import { describe, expect, test } from 'vitest'
import { type AnyEventObject, assign, createActor, fromPromise, type SnapshotFrom, setup } from 'xstate'
import { Agent } from '../../src/agent/Agent.ts'
import { type PathOptions, planPaths, replayPath, withPuppets } from '../../src/testing/paths.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { TransitionCoverage } from '../../src/testing/TransitionCoverage.ts'
import { collect, idle, rejection } from './watching.ts'

/** A foreign machine: an upload with an invoke, onError, guards, an `after` and an `always`. */
const upload = setup({
  types: {
    context: {} as { tries: number; size: number },
    input: {} as { size: number },
    events: {} as { type: 'retry' } | { type: 'cancel' } | { type: 'progress' },
  },
  actors: { send: fromPromise<string, { size: number }>(async () => 'sent') },
  guards: {
    isEmpty: ({ context }) => context.size === 0,
    mayRetry: ({ context }) => context.tries < 2,
  },
}).createMachine({
  id: 'upload',
  context: ({ input }) => ({ tries: 0, size: input.size }),
  initial: 'checking',
  states: {
    checking: { always: [{ guard: 'isEmpty', target: 'refused' }, { target: 'sending' }] },
    sending: {
      entry: assign({ tries: ({ context }) => context.tries + 1 }),
      invoke: {
        id: 'send',
        src: 'send',
        input: ({ context }) => ({ size: context.size }),
        onDone: 'done',
        onError: [{ guard: 'mayRetry', target: 'waiting' }, { target: 'refused' }],
      },
      on: { cancel: 'refused', progress: {} },
    },
    waiting: { after: { 1000: 'sending' }, on: { retry: 'sending' } },
    done: { type: 'final' },
    refused: { type: 'final' },
  },
})

type UploadSnapshot = SnapshotFrom<typeof upload>

const everyEvent = (snapshot: UploadSnapshot): AnyEventObject[] =>
  snapshot.matches('sending')
    ? [
        { type: 'xstate.done.actor.send', output: 'sent' },
        { type: 'xstate.error.actor.send', error: new Error('no') },
        { type: 'cancel' },
        { type: 'progress' },
      ]
    : [{ type: 'retry' }, { type: 'xstate.after.1000.upload.waiting' }]

const options = (events = everyEvent): PathOptions<typeof upload> => ({
  inputs: [{ size: 1 }, { size: 0 }],
  events,
  key: ({ value, context }) => JSON.stringify([value, Math.min(context.tries, 2)]),
  from: ({ type }) => (type === 'progress' ? 'send' : undefined),
})

const walk = (given: PathOptions<typeof upload>) => {
  const machine = withPuppets(upload)
  const coverage = new TransitionCoverage(machine)
  const paths = planPaths(upload, given)
  const mismatches: string[] = []
  for (const path of paths) {
    const actor = replayPath(machine, path, {
      ...(given.from && { from: given.from }),
      inspect: coverage.inspect,
      onStep: (running, index) => {
        const key = given.key(running.getSnapshot())
        if (key !== path.keys[index]) mismatches.push(`${key} instead of ${path.keys[index]}`)
      },
    })
    actor.stop()
  }
  return { coverage, paths, mismatches }
}

describe('the path kit on a foreign machine', () => {
  test('plans paths that take every transition: always, guards, after, onDone, onError', () => {
    const { coverage, mismatches } = walk(options())
    expect(coverage.missing).toEqual([])
    expect(coverage.report()).toBe('upload: 9/9 transitions')
    expect(mismatches).toEqual([])
  })

  test('names the transitions that are missing when an event is left out', () => {
    const without = (type: string) =>
      walk(options((snapshot) => everyEvent(snapshot).filter((event) => event.type !== type)))
    expect(without('cancel').coverage.missing).toEqual(['upload.sending on cancel'])
    expect(without('cancel').coverage.report()).toBe(
      'upload: 8/9 transitions; never taken: upload.sending on cancel',
    )
    expect(without('xstate.after.1000.upload.waiting').coverage.missing).toEqual([
      'upload.waiting on xstate.after.1000.upload.waiting',
    ])
    expect(without('xstate.error.actor.send').coverage.missing).toHaveLength(4)
  })

  test('an input left out leaves its guard alternative uncovered', () => {
    const { coverage } = walk({ ...options(), inputs: [{ size: 1 }] })
    expect(coverage.missing).toEqual(['upload.checking always #1'])
  })

  test('counts how often each transition was taken', () => {
    const { coverage, paths } = walk(options())
    expect(coverage.counts.get('upload.checking always #1')).toBe(
      paths.filter(({ input }) => input.size === 0).length,
    )
  })

  test('replays a path from a stored snapshot to the same end', () => {
    const machine = withPuppets(upload)
    const path = planPaths(upload, options()).find(({ events }) => events.length === 3)
    if (!path) throw new Error('No path has three events.')
    const stored: unknown[] = []
    const whole = replayPath(machine, path, {
      onStep: (actor) => stored.push(JSON.parse(JSON.stringify(actor.getPersistedSnapshot()))),
    })
    const snapshot = stored[2] as UploadSnapshot
    const resumed = replayPath(machine, path, { resume: { snapshot, seen: 2 } })
    expect(resumed.getSnapshot().value).toEqual(whole.getSnapshot().value)
    expect(resumed.getSnapshot().context).toEqual(whole.getSnapshot().context)
  })

  test('puppets do nothing of their own, and the machine itself is left as it was', async () => {
    const puppets = createActor(withPuppets(upload), { input: { size: 1 } }).start()
    const real = createActor(upload, { input: { size: 1 } }).start()
    await idle()
    expect([puppets.getSnapshot().value, real.getSnapshot().value]).toEqual(['sending', 'done'])
    puppets.stop()
  })
})

describe('the scripted model', () => {
  test('fails the run when it is called more often than its script says', async () => {
    const model = scriptedModel([])
    await rejection(new Agent(model).send('Hi'), Error)
    expect(() => model.assertDone()).toThrow('The script has 0 turns, but the model was called 1 times.')
  })

  test('reports when turns are left', () => {
    expect(() => scriptedModel(['unused']).assertDone()).toThrow('was called 0 times')
  })

  test('keeps each request as it was at the time', async () => {
    const model = scriptedModel([[{ toolCall: { id: 'a', name: 'none' } }], 'ok'])
    await new Agent(model).send('Hi')
    expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3])
  })

  test('plays each step as a read of its own and stops when it is closed', async () => {
    const model = scriptedModel([[{ text: 'a' }, { delayMs: 5 }, { text: 'b' }]])
    const chunks = await collect(new Agent(model).sendStream('Hi'))
    expect(chunks.filter(({ output }) => output !== '')).toHaveLength(2)
    expect(model.closed).toBe(0)
  })
})
