import { describe, expect, onTestFinished, test } from 'vitest'
import { SimulatedClock } from 'xstate'
import { cutAfter, streamed, textSent, turn, words } from './cutHabits.ts'
import {
  callsRun,
  farewell,
  hostileAgent,
  lastTurn,
  modelError,
  run,
  time,
  weather,
  wires,
} from './hostileRun.ts'
import { type Ending, inBytes } from './hostileServer.ts'
import { ollama } from './otherWires.ts'
import { answer } from './wire.ts'

// One clean tool loop, cut after every event and in the middle of every event, by a dead connection and by an early
// end: nothing runs from a cut answer, what came is kept, and the run ends once, with a typed error.

const endings: Ending[] = ['destroy', 'clean']

describe.each(wires)('$model', (wire) => {
  const first = wire.events(turn)
  const second = wire.events({ text: farewell })
  const cuts = [...first.keys()].filter((count) => count <= first.length - wire.endMarks)

  describe.each(endings)('ended by %s', (ending) => {
    test.each(cuts)('cut after %i events: no tool runs and the text so far is kept', (count) =>
      cutAfter(wire, count, ending),
    )

    test('cut in the middle of any event: the same', async () => {
      for (const count of cuts) {
        const event = first[count] ?? ''
        const half = event.slice(0, event.trimEnd().length - 2)
        const events = [...first.slice(0, count), half]
        const outcome = await run(wire, [answer(wire, events, ending)])

        // Half a JSON document and nothing else may be a broken error text, so it is shown.
        const early = wire === ollama && count === 0 ? 'invalid_json' : 'truncated'
        const code = ending === 'clean' ? early : 'UND_ERR_SOCKET'
        expect(modelError(outcome)).toMatchObject({ code, retryable: true })
        expect(outcome.ran).toEqual([])
        expect(outcome.result.output).toBe(textSent(first.slice(0, count).join(''), words))
      }
    })

    test('cut after the end was sent: the answer is complete', async () => {
      for (let missing = 0; missing < wire.endMarks; missing += 1) {
        const events = first.slice(0, first.length - missing)
        const outcome = await run(wire, [answer(wire, events, ending), lastTurn(wire)])

        expect(outcome.error).toBeUndefined()
        expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
        expect(outcome.result.output).toBe(`${words}\n${farewell}`)
      }
    })

    test('cut anywhere in the second turn: what the tools did is kept, and they ran once', async () => {
      for (let count = 0; count <= second.length - wire.endMarks; count += 1) {
        const events = second.slice(0, count)
        const outcome = await run(wire, [answer(wire, first), answer(wire, events, ending)])

        expect(modelError(outcome).retryable).toBe(true)
        expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
        const text = textSent(events.join(''), farewell)
        expect(outcome.result.output).toBe([words, text].filter((part) => part !== '').join('\n'))
        expect(outcome.result.messages.map(({ role }) => role)).toEqual(['user', 'model', 'user', 'model'])
      }
    })
  })

  test('single bytes: the loop is the same when every byte is a read of its own', async () => {
    const answers = [first, second].map((events) =>
      answer(wire, [], 'clean', { body: inBytes(events.join('')) }),
    )
    const outcome = await run(wire, answers)
    expect(callsRun(outcome)).toEqual([weather('Oslo'), time])
    expect(outcome.result).toMatchObject({ output: `${words}\n${farewell}`, finishReason: 'stop' })

    const stream = await streamed(wire, answers)
    expect(stream.text).toBe(`${words}\n${farewell}`)
    expect(stream.finals).toHaveLength(1)
    expect(stream.error).toBeUndefined()
  })

  test('single bytes: a cut call is refused just so', async () => {
    const bytes = inBytes(first.slice(0, first.length - wire.endMarks).join(''))
    const outcome = await run(wire, [answer(wire, [], 'destroy', { body: bytes })])

    expect(modelError(outcome).retryable).toBe(true)
    expect(outcome.ran).toEqual([])
    expect(outcome.result.output).toBe(words)
  })

  test('stalled: a stream that falls silent is timed out, its text kept and its connection closed', async () => {
    const events = first.slice(0, cuts.at(-1))
    const clock = new SimulatedClock()
    const { agent, server, ran } = await hostileAgent(wire, [answer(wire, events, 'stall')], {
      timeouts: { idleMs: 60 },
      clock,
    })
    const run = agent.start('How is the weather?')
    let shown = ''
    run.on('chunk', ({ output }) => {
      shown += output
    })
    // The time passes once all of the text has come.
    const silence = setInterval(() => shown === words && clock.increment(60), 5)
    onTestFinished(() => clearInterval(silence))
    await expect(run.result).rejects.toMatchObject({
      name: 'TimeoutError',
      partial: { output: words, finishReason: 'error' },
    })
    await server.left()
    expect(ran).toEqual([])
  })
})
