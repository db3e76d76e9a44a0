/** An orchestrator has one name and is built once. */
import { describe, expect, test } from 'vitest'
import type { AnyActorRef } from 'xstate'
import { z } from 'zod'
import { reasoningOrchestrator } from '../../machines/index.ts'
import { Agent } from '../../src/agent/Agent.ts'
import { OrchestrationError, StatewireError } from '../../src/messages/errors.ts'
import { scriptedModel } from '../../src/testing/scriptedModel.ts'
import { rejection } from '../engine/watching.ts'

describe('an orchestrator', () => {
  test('is named by its hint, in the inspector and in errors', async () => {
    const names: string[] = []
    const agent = new Agent(scriptedModel([]), {
      orchestrator: { ...reasoningOrchestrator(), providerHint: 'my-reasoning' },
      inspect: (event) => {
        if (event.type === '@xstate.actor') names.push((event.actorRef as AnyActorRef).id)
      },
      accumulator: {},
    })
    await rejection(agent.send('Hi'), StatewireError)
    expect(names[0]).toBe('my-reasoning')
    const broken = new Agent(scriptedModel([]), {
      orchestrator: {
        providerHint: 'my-own',
        create: ({ lifecycle }) =>
          lifecycle().provide({
            guards: {
              hasFailed: () => {
                throw new Error('no')
              },
            },
          }),
      },
    })
    expect(await rejection(broken.send('Hi'), OrchestrationError)).toMatchObject({ orchestrator: 'my-own' })
  })

  test('for typed output is built once, however many schemas are made', async () => {
    let looks = 0
    const model = scriptedModel(['{"n":1}', '{"n":2}', '{"n":3}'])
    const counted = new Proxy(model, {
      get: (target, key, receiver) => {
        if (key === 'profile') looks += 1
        return Reflect.get(target, key, receiver)
      },
    })
    const agent = new Agent(counted)
    const looksAfter = []
    for (const n of [1, 2, 3]) {
      expect((await agent.sendFor('n', z.object({ n: z.literal(n) }))).output).toEqual({ n })
      looksAfter.push(looks)
    }
    // The first answer looks as often as its request and the building do, every other one as often as its request.
    const [first = 0, second = 0, third = 0] = looksAfter
    expect(third - second).toBe(second - first)
    expect(first).toBeGreaterThan(second - first)
  })

  test('for typed output keeps schemas apart that only differ in what they check', async () => {
    const agent = new Agent(scriptedModel(['{"n":1}', '{"n":1}', '{"n":1}']))
    const odd = z.object({ n: z.number().refine((n) => n % 2 === 1) })
    const even = z.object({ n: z.number().refine((n) => n % 2 === 0) })
    const [first, second] = await Promise.allSettled([agent.sendFor('n', odd), agent.sendFor('n', even)])
    expect([first?.status, second?.status]).toEqual(['fulfilled', 'rejected'])
  })
})
