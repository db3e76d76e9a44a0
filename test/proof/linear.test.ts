import { describe, expect, test, vi } from 'vitest'
import type { Actor } from 'xstate'
import type { AgentInput, AgentMachine } from '../../machines/index.ts'
import { openaiResponses } from '../../providers/openai-responses/index.ts'
import { OutputItem } from '../../providers/openai-responses/outputItems.ts'
import { PartialJson } from '../../src/agent/PartialJson.ts'
import { Agent, modelMessage, tool, userMessage } from '../../src/index.ts'
import { appended, type Batches, grown, type MergedPieces, wholeOf } from '../../src/messages/growing.ts'
import type { JsonObject, JsonValue } from '../../src/messages/json.ts'
import { type ScriptStep, type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { BareJson } from '../../src/transport/textFraming.ts'

// What a server makes us do is in proportion to what it sends: twice as much of it is twice the work, and not four times.
// Counted, not timed.

/** Lists that are moved as often as their length has digits make it a little more than twice. */
const barelyTwice = 2.4

const expectInProportion = async (workFor: (n: number) => number | Promise<number>, n: number) => {
  const [once, twice] = [await workFor(n), await workFor(2 * n)]
  expect(once).toBeGreaterThan(0)
  expect(twice / once).toBeLessThan(barelyTwice)
}

/** How many entries of lists and objects were written again between values that share what they can. */
class Copies {
  readonly #known = new WeakSet<object>()
  count = 0

  see(value: unknown): void {
    if (typeof value !== 'object' || value === null || this.#known.has(value)) return
    this.#known.add(value)
    const entries = Object.values(value)
    this.count += entries.length
    for (const entry of entries) this.see(entry)
  }
}

const numbers = (n: number): number[] => Array.from({ length: n }, (_, nth) => nth)

describe('data that grows', () => {
  test('a list in runs is the list, and no run was ever changed', () => {
    let runs: Batches<number> = []
    const before: [Batches<number>, string][] = []
    for (const each of numbers(300)) {
      before.push([runs, JSON.stringify(runs)])
      runs = appended(runs, each % 7 === 0 ? [each, -each] : [each])
    }
    expect(runs.flat()).toEqual(numbers(300).flatMap((each) => (each % 7 === 0 ? [each, -each] : [each])))
    expect(runs.length).toBeLessThan(12)
    for (const [old, text] of before) expect(JSON.stringify(old)).toBe(text)
    expect(appended(runs, [])).toBe(runs)
  })

  test('moves each item of a list only as often as the count has digits', () =>
    expectInProportion((n) => {
      const copies = new Copies()
      let runs: Batches<number> = []
      for (const each of numbers(n)) {
        runs = appended(runs, [each])
        copies.see(runs)
      }
      return copies.count
    }, 4000))

  test('joins other values just so, in their order', () =>
    expectInProportion((n) => {
      let work = 0
      const join = (older: string, newer: string): string => {
        work += older.length + newer.length
        return older + newer
      }
      let growing: MergedPieces<string> = []
      for (const each of numbers(n)) growing = grown(growing, String(each % 10), join)
      expect(wholeOf(growing, join)).toBe(
        numbers(n)
          .map((each) => each % 10)
          .join(''),
      )
      return work
    }, 4000))
})

/** What a run does, and how often it writes JSON on the way. */
const written = async (run: () => Promise<unknown>): Promise<number> => {
  const spy = vi.spyOn(JSON, 'stringify')
  try {
    await run()
    return spy.mock.calls.length
  } finally {
    spy.mockRestore()
  }
}

describe('a run', () => {
  const citations = (n: number): ScriptStep[] =>
    numbers(n).map((each) => ({ metadata: { citations: [{ url: `https://example.com/${each}` }] } }))

  test('compares each of many citations with none of the others', () =>
    expectInProportion(
      (n) =>
        written(async () => {
          const { metadata, messages } = await new Agent(
            scriptedModel([[...citations(n), { text: 'ok' }]]),
          ).send('Go')
          expect(metadata.citations).toHaveLength(n)
          expect(messages[1]?.metadata?.citations).toHaveLength(n)
        }),
      500,
    ))

  test('neither where they are repeated, nor over several steps', () =>
    expectInProportion(
      (n) =>
        written(async () => {
          const again = [...citations(n), ...citations(n)]
          const call: ScriptTurn = [...again, { toolCall: { id: 'a', name: 'none' } }]
          const model = scriptedModel([call, [...again, { text: 'ok' }]])
          expect((await new Agent(model).send('Go')).metadata.citations).toHaveLength(n)
        }),
      300,
    ))

  const calls = (n: number): ScriptTurn =>
    numbers(n).map((each) => ({ toolCall: { id: `call_${each}`, name: 'echo', arguments: { each } } }))
  const echo = tool({ name: 'echo', description: 'Says it again', execute: () => 'done' })

  test.each(['sequential', 'parallel'] as const)(
    'copies little for each of many calls: %s',
    (toolExecution) =>
      expectInProportion(async (n) => {
        const copies = new Copies()
        const agent = new Agent(scriptedModel([calls(n), 'ok']), { tools: [echo], toolExecution })
        const actor = agent.actor({ prompt: 'Go' })
        actor.subscribe(({ context: { round } }) => {
          copies.see(round.results)
          copies.see(round.started)
        })
        let ran = 0
        actor.on('tool.result', () => {
          ran += 1
        })
        await new Promise<void>((resolve) => {
          actor.subscribe({ complete: () => resolve() })
          actor.start()
        })
        expect(ran).toBe(n)
        return copies.count
      }, 300),
  )

  test('writes as much JSON for each of many calls as for one', () =>
    expectInProportion(
      (n) =>
        written(async () => {
          const { messages } = await new Agent(scriptedModel([calls(n), 'ok']), { tools: [echo] }).send('Go')
          expect(messages[2]?.parts).toHaveLength(n)
        }),
      300,
    ))
})

describe('what a user makes long', () => {
  /** Entries of a run's data that were written again between one snapshot and the next. */
  const copiedBy = async (agent: Agent, input: AgentInput, begin: (actor: Actor<AgentMachine>) => void) => {
    const copies = new Copies()
    const actor = agent.actor(input)
    // The history that came in is there before anything was done.
    copies.see(input.history)
    actor.subscribe(({ context }) => copies.see(context))
    const over = new Promise<void>((resolve) => actor.subscribe({ complete: () => resolve() }))
    actor.start()
    begin(actor)
    await over
    expect(actor.getSnapshot().output?.status).toBe('complete')
    return copies.count
  }

  test('many steers are queued for as much each as one', () =>
    expectInProportion((n) => {
      const model = scriptedModel([[{ text: 'a' }, { delayMs: 1 }, { text: 'b' }], 'ok'])
      return copiedBy(new Agent(model), { prompt: 'Go' }, (actor) => {
        for (const each of numbers(n)) actor.send({ type: 'steer', text: `${each}` })
      })
    }, 2000))

  test('a step after a long history copies of it only what grows by a step', async () => {
    const history = (n: number) => numbers(n).flatMap((each) => [userMessage(`${each}`), modelMessage('ok')])
    const work = async (steps: number, n: number) => {
      const turns = numbers(steps).map((each): ScriptTurn => [{ toolCall: { id: `${each}`, name: 'echo' } }])
      const echo = tool({ name: 'echo', description: 'Says it again', execute: () => 'done' })
      const agent = new Agent(scriptedModel([...turns, 'ok']), { tools: [echo], maxSteps: 100 })
      return copiedBy(agent, { prompt: 'Go', history: history(n) }, () => {})
    }
    await expectInProportion((n) => work(4, n), 500)
    // Lists of messages are copied once per message that joins, and the messages in them never.
    const perStep = ((await work(8, 500)) - (await work(4, 500))) / 4
    expect(perStep).toBeLessThan(10 * 1000)
  })

  /** How many entries lists had to move while something was taken from their beginning. */
  const movedBy = async (run: () => Promise<void>): Promise<number> => {
    const { shift } = Array.prototype
    let moved = 0
    const counting = function (this: unknown[]) {
      moved += this.length
      return shift.call(this)
    }
    Object.defineProperty(Array.prototype, 'shift', { value: counting, configurable: true, writable: true })
    try {
      await run()
      return moved
    } finally {
      Object.defineProperty(Array.prototype, 'shift', { value: shift, configurable: true, writable: true })
    }
  }

  test('chunks that wait for a slow reader are handed out for as much each as one', () =>
    expectInProportion(async (n) => {
      const words = numbers(n).map((each) => ({ text: `${each} ` }))
      const stream = new Agent(scriptedModel([words])).sendStream('Go')
      let seen = 1
      const moved = await movedBy(async () => {
        await stream.next()
        // By now all of them wait.
        await new Promise((resolve) => setTimeout(resolve, 5))
        for await (const _ of stream) seen += 1
      })
      expect(seen).toBeGreaterThan(n)
      return moved + seen
    }, 2000))
})

describe('a typed stream', () => {
  /** All values that a consumer gets, one after each piece. */
  const values = (json: string, size = 4): (JsonValue | undefined)[] => {
    const partial = new PartialJson()
    return numbers(Math.ceil(json.length / size)).map((nth) => {
      partial.push(json.slice(nth * size, (nth + 1) * size))
      return partial.value
    })
  }

  test('decodes each character of a long text once, and shows it as it grows', async () => {
    const spy = vi.spyOn(JSON, 'parse')
    const text = 'ab"\\\n\u00e9\ud83c\udf0a/'.repeat(2000)
    const seen = values(JSON.stringify({ text }))
    expect(spy).not.toHaveBeenCalled()
    spy.mockRestore()
    const texts = seen.map((value) => (value as { text?: string } | undefined)?.text ?? '')
    expect(texts.every((each) => text.startsWith(each))).toBe(true)
    expect(new Set(texts).size).toBeGreaterThan(4000)
    expect(seen.at(-1)).toEqual({ text })
  })

  const shapes: [string, (n: number) => JsonValue][] = [
    ['a list', (n) => numbers(n)],
    ['a list of objects', (n) => ({ items: numbers(n).map((each) => ({ each, text: 'x' })) })],
    ['an object', (n) => Object.fromEntries(numbers(n).map((each) => [`key${each}`, each]))],
    ['lists in lists', (n) => [numbers(n), [numbers(n), [numbers(n)]]]],
  ]

  test.each(shapes)('copies of %s no more than was written', async (_, shape) => {
    await expectInProportion((n) => {
      const copies = new Copies()
      const seen = values(JSON.stringify(shape(n)))
      for (const value of seen) copies.see(value)
      expect(seen.at(-1)).toEqual(shape(n))
      return copies.count
    }, 1000)
  })

  test('never changes a value that it gave', () => {
    const json = JSON.stringify({ items: numbers(200).map((each) => ({ each, list: [each, [each]] })) })
    const partial = new PartialJson()
    const given: [JsonValue | undefined, string][] = []
    for (const char of json) {
      partial.push(char)
      given.push([partial.value, JSON.stringify(partial.value) ?? ''])
    }
    for (const [value, text] of given) expect(JSON.stringify(value) ?? '').toBe(text)
  })
})

describe('decoders', () => {
  const target = {
    provider: 'openai-responses',
    model: 'm',
    profile: {
      tools: true,
      parallelTools: true,
      nativeSchema: true,
      schemaWithTools: true,
      thinking: true,
      attachments: { images: true, pdf: true, audio: true, links: true },
    },
  }
  const item = (nth: number): JsonObject => ({
    type: 'function_call',
    id: `fc_${nth}`,
    call_id: `call_${nth}`,
    name: 'echo',
    arguments: '{}',
  })

  test.each([
    ['each at its place', (nth: number) => nth],
    ['all at one place', () => 0],
  ])('Responses: finds the item of an event without looking through all of them, %s', async (_, placeOf) => {
    await expectInProportion((n) => {
      const looks = vi.spyOn(OutputItem.prototype, 'isSameAs')
      const decoder = openaiResponses.decoder(target)
      const push = (event: JsonObject) => decoder.push({ data: JSON.stringify(event) })
      for (const nth of numbers(n)) {
        const place = { output_index: placeOf(nth) }
        push({ type: 'response.output_item.added', ...place, item: { ...item(nth), arguments: '' } })
      }
      for (const nth of numbers(n).reverse()) {
        push({ type: 'response.output_item.done', output_index: placeOf(nth), item: item(nth) })
      }
      const output = numbers(n).reverse().map(item)
      const deltas = push({ type: 'response.completed', response: { id: 'r', status: 'completed', output } })
      expect(deltas.filter(({ type }) => type === 'toolCall')).toHaveLength(n)
      const { length } = looks.mock.calls
      looks.mockRestore()
      return length
    }, 300)
  })

  test('a document without a frame is looked at once, line by line', () => {
    const bare = new BareJson()
    const lines = ['{', ...numbers(5000).map((nth) => `"k${nth}": {"a": ["]"]},`), '"z": 1', '}']
    const documents = lines.map((line) => bare.push(line))
    expect(documents.filter((each) => each !== undefined)).toEqual([lines.join('\n')])
    expect(bare.size).toBe(0)
  })
})
