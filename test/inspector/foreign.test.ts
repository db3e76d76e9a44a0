import { describe, expect, it } from 'vitest'
import { assign, createActor, fromCallback, fromPromise, setup } from 'xstate'
import { changesBetween } from '../../src/inspector/moments.ts'
import { TransitionCoverage } from '../../src/testing/index.ts'
import { describeMachine } from '../../src/visualize/index.ts'
import { command, inspecting, listen, momentOf, type PageFeed } from './watching.ts'

const light = setup({
  types: { context: {} as { changes: number }, events: {} as { type: 'NEXT' } | { type: 'POWER_CUT' } },
  guards: { isTired: ({ context }) => context.changes >= 4 },
}).createMachine({
  id: 'light',
  context: { changes: 0 },
  initial: 'green',
  on: { POWER_CUT: '.dark' },
  states: {
    green: { on: { NEXT: 'yellow' }, exit: assign({ changes: ({ context }) => context.changes + 1 }) },
    yellow: { on: { NEXT: [{ guard: 'isTired', target: 'dark' }, { target: 'red' }] } },
    red: { on: { NEXT: 'green' } },
    dark: { type: 'final' },
  },
})

const knowsRow = (name: string, status?: string) => (feed: PageFeed) => {
  const row = feed.row(name)
  return row !== undefined && (status === undefined || row.status === status)
}

describe("A user's own machine", () => {
  it('shows its states, events, changes and counts', async () => {
    const inspector = await inspecting()
    const coverage = new TransitionCoverage(light)
    const actor = createActor(light, {
      inspect: (event) => {
        coverage.inspect(event)
        inspector.inspect(event)
      },
    }).start()
    for (let index = 0; index < 4; index += 1) actor.send({ type: 'NEXT' })
    actor.send({ type: 'POWER_CUT' })
    const feed = await listen(inspector)
    await feed.until(knowsRow('light', 'done'))
    expect(feed.row('light')).toMatchObject({ kind: 'machine', title: '', state: 'dark', canAbort: false })
    expect(Object.fromEntries(feed.taken)).toEqual(
      Object.fromEntries([...coverage.counts].filter(([, count]) => count > 0)),
    )
    expect(feed.moments.map(({ event, path }) => [event, path])).toEqual([
      ['xstate.init', ['green']],
      ['NEXT', ['yellow']],
      ['NEXT', ['red']],
      ['NEXT', ['green']],
      ['NEXT', ['yellow']],
      ['POWER_CUT', ['dark']],
    ])
    expect(feed.moments[1]?.changes).toEqual([{ path: 'changes', before: '0', after: '1' }])
    expect(feed.attempts).toEqual([])
  })

  it('has a chart, which the page draws', async () => {
    const inspector = await inspecting()
    createActor(light, { inspect: inspector.inspect }).start()
    const feed = await listen(inspector)
    await feed.until(knowsRow('light'))
    const chart = await fetch(`${inspector.url}chart?actor=${feed.watched}`)
    expect(await chart.json()).toEqual({
      ...JSON.parse(JSON.stringify(describeMachine(light))),
      ends: {},
    })
    expect((await fetch(`${inspector.url}chart?actor=999`)).status).toBe(404)
  })

  it('that crashes is shown as failed, although XState does not report it', async () => {
    const inspector = await inspecting()
    const fragile = setup({}).createMachine({
      id: 'fragile',
      on: {
        HIT: {
          actions: () => {
            throw new Error('It broke.')
          },
        },
      },
    })
    const actor = createActor(fragile, { inspect: inspector.inspect })
    actor.subscribe({ error: () => {} })
    actor.start()
    actor.send({ type: 'HIT' })
    const feed = await listen(inspector)
    await feed.until(knowsRow('fragile', 'failed'))
    expect(feed.row('fragile')?.failure).toBe('Error: It broke.')
    expect(feed.moments.at(-1)?.event).toBe('HIT')
  })

  it('gets no event that it does not handle', async () => {
    const inspector = await inspecting()
    const actor = createActor(light, { inspect: inspector.inspect }).start()
    const feed = await listen(inspector)
    await feed.until(knowsRow('light'))
    const response = await command(inspector, { actor: feed.watched, type: 'abort' })
    expect(response.status).toBe(409)
    expect(actor.getSnapshot().status).toBe('active')
  })

  it('shows its children: promises, callbacks, machines, and one that failed', async () => {
    const inspector = await inspecting()
    const parent = setup({
      actors: {
        light,
        task: fromPromise(async () => Promise.reject(new Error('No.'))),
        ticker: fromCallback(() => () => {}),
      },
    }).createMachine({
      id: 'parent',
      invoke: [
        { id: 'lamp', src: 'light' },
        { id: 'task', src: 'task', onError: { actions: () => {} } },
        { id: 'ticker', src: 'ticker' },
      ],
    })
    const actor = createActor(parent, { inspect: inspector.inspect }).start()
    const feed = await listen(inspector)
    await feed.until(knowsRow('task', 'failed'))
    expect(feed.row('lamp')).toMatchObject({
      kind: 'machine',
      state: 'green',
      parent: feed.row('parent')?.id,
    })
    actor.stop()
    await feed.until(knowsRow('parent', 'stopped'))
    expect([...feed.actors.values()].map(({ name, status }) => [name, status])).toEqual([
      ['parent', 'stopped'],
      ['lamp', 'stopped'],
      ['task', 'failed'],
      ['ticker', 'stopped'],
    ])
  })

  it('keeps its last 2,000 moments, and the counts of those before', async () => {
    const inspector = await inspecting()
    const counter = setup({
      types: { context: {} as { n: number }, events: {} as { type: 'ADD' } },
    }).createMachine({
      id: 'counter',
      context: { n: 0 },
      on: { ADD: { actions: assign({ n: ({ context }) => context.n + 1 }) } },
    })
    const actor = createActor(counter, { inspect: inspector.inspect }).start()
    for (let index = 0; index < 5_000; index += 1) actor.send({ type: 'ADD' })
    const feed = await listen(inspector)
    await feed.until(({ messages, moments }) => moments.length > 0 && !messages.at(-1)?.isBehind)
    // In slices: the process has other work to do.
    expect(feed.messages[0]).toMatchObject({ isBehind: true })
    expect(feed.messages.at(-1)).not.toHaveProperty('isBehind')
    const { dropped } = feed.messages[0]?.watched ?? {}
    expect(feed.moments.length).toBeGreaterThanOrEqual(2_000)
    expect(feed.moments.length).toBeLessThan(4_000)
    expect((dropped?.moments ?? 0) + feed.moments.length).toBe(5_001)
    const [before = ['', 0]] = dropped?.taken ?? []
    expect(before[1] + (feed.taken.get('counter on ADD') ?? 0)).toBe(5_000)
    expect(feed.moments.at(-1)?.changes).toEqual([{ path: 'n', before: '4999', after: '5000' }])
  })
})

describe('A hostile context', () => {
  const hostile = (): Record<string, unknown> => {
    const circular: Record<string, unknown> = { name: 'me' }
    circular.self = circular
    return {
      circular,
      trap: {
        get sprung(): string {
          throw new Error('A getter was called.')
        },
      },
      proxy: new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('No keys for you.')
          },
        },
      ),
      list: Array.from({ length: 100_000 }, (_, index) => index),
      text: 'x'.repeat(3_000_000),
      deep: Array.from({ length: 500 }).reduce<unknown>((inner) => ({ inner }), 'end'),
      wide: Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key${index}`, index])),
      map: new Map([['a', new Set([1])]]),
      big: 10n,
      none: undefined,
      nan: Number.NaN,
      symbol: Symbol('s'),
      call: () => 'called',
      error: new TypeError('Wrong.', { cause: 'a reason' }),
      bytes: new Uint8Array(12),
      date: new Date(0),
      password: 'secret-word',
      ['__proto__']: { polluted: true },
      '<img src=x onerror=alert(1)>': '<script>alert(1)</script>',
    }
  }

  it('is shown as far as it can be read, and breaks nothing', async () => {
    const inspector = await inspecting()
    const machine = setup({ types: { context: {} as Record<string, unknown> } }).createMachine({
      id: 'hostile',
      context: hostile,
    })
    const actor = createActor(machine, { inspect: inspector.inspect }).start()
    const feed = await listen(inspector)
    await feed.until(knowsRow('hostile'))
    const { context } = await momentOf(inspector, feed.watched ?? 0, feed.moments[0]?.seq ?? 0)
    expect(context).toMatchObject({
      circular: { name: 'me', self: '⟨circular⟩' },
      trap: { sprung: '⟨getter⟩' },
      proxy: '⟨unreadable: No keys for you.⟩',
      map: { '⟨Map⟩': [['a', { '⟨Set⟩': [1] }]] },
      big: '⟨10n⟩',
      none: '⟨undefined⟩',
      nan: '⟨NaN⟩',
      symbol: '⟨symbol⟩',
      call: '⟨function⟩',
      error: { name: 'TypeError', message: 'Wrong.', cause: 'a reason' },
      bytes: '⟨12 bytes⟩',
      date: '⟨Date 0⟩',
      password: '***',
    })
    const text = JSON.stringify(context)
    expect(text.length).toBeLessThan(200_000)
    expect(text).toContain('⟨… 100000 in all⟩')
    expect(text).toContain('⟨… 3000000 characters in all⟩')
    expect(Object.prototype).not.toHaveProperty('polluted')
    expect(actor.getSnapshot().status).toBe('active')
  })

  it('has its changes listed, as far as it can be read', () => {
    const before = hostile()
    expect(changesBetween(before, { ...hostile(), list: [1] }, [])).toContainEqual({
      path: 'circular.self.self.self',
      before: expect.stringContaining('⟨circular⟩'),
      after: expect.stringContaining('⟨circular⟩'),
    })
    expect(changesBetween(before.trap, { sprung: 1 }, [])).toEqual([
      { path: 'sprung', before: '⟨getter⟩', after: '1' },
    ])
    expect(changesBetween({ p: before.proxy }, { p: 1 }, [])).toEqual([
      { path: 'p', before: '⟨unreadable: No keys for you.⟩', after: '1' },
    ])
  })

  it('never reaches the actor: an inspector that is broken by an event leaves the run alone', async () => {
    const inspector = await inspecting()
    const actor = createActor(light, {
      inspect: (event) => {
        inspector.inspect(event)
        inspector.inspect({ ...event, type: '@xstate.snapshot' } as never)
        inspector.inspect({ type: '@xstate.microstep', rootId: '', actorRef: null } as never)
        inspector.inspect({ type: '@xstate.unheard-of' } as never)
      },
    }).start()
    actor.send({ type: 'NEXT' })
    expect(actor.getSnapshot().value).toBe('yellow')
  })
})
