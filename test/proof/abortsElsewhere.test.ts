import { describe, expect, test } from 'vitest'
import { idle } from '../engine/watching.ts'
import { openai as wire } from '../hostile/chatWire.ts'
import { expectNothingUnhandled, interruptions, Moments, outerWays } from './interrupting.ts'
import { runServer } from './runServer.ts'
import { isWhole } from './sample.ts'
import { loop, scenarios } from './scenarios.ts'
import { expectNothingLeft, prompt, slowWeather, timers } from './toolLoop.ts'

/** The same promise as for the tool loop, wherever else a run may be. */
expectNothingUnhandled()

describe('a run that is interrupted has one end and leaves nothing', () => {
  test.each(scenarios)('$where', { timeout: 600_000 }, async ({ script = loop, make, idleSockets }) => {
    const server = await runServer(wire, script)
    const moments = new Moments()
    const weather = slowWeather(true)
    const runner = make({
      weather,
      options: {
        baseUrl: server.url,
        apiKey: 'k',
        tools: [weather.tool],
        retry: { maxRetries: 0 },
        inspect: moments.tick,
      },
    })
    const before = timers()
    moments.at(-1)
    const whole = await runner.send(prompt, {})
    expect(whole.messages.at(-1)?.role).toBe('model')
    await idle()
    const length = moments.seen
    const ways = Object.values(runner.actor ? interruptions : outerWays)
    // A prime, so that every way meets every stretch of the run.
    const step = Math.max(1, Math.floor(length / (isWhole ? 97 : 31)))
    for (let moment = 0, nth = 0; moment < length; moment += step, nth += 1) {
      const controller = new AbortController()
      const way = ways[nth % ways.length]
      await way?.(runner, prompt, (act) => moments.at(moment, act), controller)
      await weather.expectSignalled()
      await expectNothingLeft(server, controller.signal, before, idleSockets)
    }
    const asked = server.requests.length
    moments.at(-1)
    const again = await runner.send(prompt, {})
    expect(again.messages).toHaveLength(whole.messages.length)
    expect(server.requests.length).toBeGreaterThan(asked)
  })
})
