/** An abort counts at whatever moment it comes: also between two phases, when one run has ended and the next has not begun. */
import { describe, expect, test } from 'vitest'
import { type AnyActor, type AnyEventObject, createActor } from 'xstate'
import { z } from 'zod'
import {
  createPhasedMachine,
  historyOf,
  orchestratorParts,
  typedOutputOrchestrator,
} from '../../machines/index.ts'
import { withValues } from '../../machines/logic/runEnvironment.ts'
import {
  Agent,
  type AgentEmitted,
  createDecision,
  type Orchestrator,
  reasoningOrchestrator,
  reflectionOrchestrator,
} from '../../src/index.ts'
import { AbortedError } from '../../src/messages/errors.ts'
import { validateHistory } from '../../src/messages/validateHistory.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/index.ts'
import { compileSchema } from '../../src/tools/schema.ts'
import { wireSchemaOf } from '../../src/tools/typedAnswer.ts'
import { recorder } from '../engine/sampleTools.ts'

const call: ScriptTurn = [{ text: 'Let me look.' }, { toolCall: { id: 'a', name: 'echo' } }]
const again: ScriptTurn = [{ toolCall: { id: 'b', name: 'echo' } }]

const twice: Orchestrator = {
  providerHint: 'twice',
  create: ({ lifecycle }) =>
    createPhasedMachine({
      id: 'twice',
      phases: {
        First: { run: lifecycle(), input: ({ input }) => input, next: 'Second' },
        Second: {
          run: lifecycle(),
          input: (state) => ({ history: historyOf(state), prompt: 'Again.' }),
          isAnswer: true,
          next: 'Complete',
        },
      },
    }),
}

const orchestrated =
  (orchestrator: Orchestrator, turns: ScriptTurn[]): (() => AnyActor) =>
  () =>
    new Agent(scriptedModel(turns), { tools: [recorder().tool], orchestrator }).actor({ prompt: 'Go' })

const answerSchema = wireSchemaOf(compileSchema(z.object({ n: z.number() }), 'The schema'))

const typed =
  (profile: Partial<ModelProfile>, turns: ScriptTurn[]): (() => AnyActor) =>
  () => {
    const parts = orchestratorParts({ model: scriptedModel(turns, { profile }), tools: [recorder().tool] })
    const machine = withValues(typedOutputOrchestrator.create(parts) as Agent['machine'], { answerSchema })
    return createActor(machine, { input: { prompt: 'Go', outputSchema: answerSchema.jsonSchema } })
  }

const misfit = '{"n":"one"}'
const fit: ScriptTurn = [{ text: '{"n"' }, { text: ':1}' }]
const returned: ScriptTurn = [{ toolCall: { id: 'r', name: 'return_result', arguments: { n: 1 } } }]

const subjects: [string, () => AnyActor][] = [
  [
    'the lifecycle',
    () => new Agent(scriptedModel([call, 'ok']), { tools: [recorder().tool] }).actor({ prompt: 'Go' }),
  ],
  ['reasoning', orchestrated(reasoningOrchestrator(), ['a', 'b', call, 'c', 'd'])],
  ['reflection', orchestrated(reflectionOrchestrator(), [call, 'a', 'No.', 'b', 'APPROVED'])],
  ['one of the user’s own', orchestrated(twice, [call, 'a', again, 'b'])],
  ['typed output, native', typed({}, [call, misfit, fit])],
  ['typed output, in two phases', typed({ schemaWithTools: false }, [call, 'It is one.', misfit, fit])],
  ['typed output, through a tool', typed({ nativeSchema: false }, [call, returned])],
]

type Run = { emitted: AgentEmitted[]; actor: AnyActor; isTooLate: boolean }

/** Runs to the end. `act` is called at the emission of this number. */
const runWith = (start: () => AnyActor, at = -1, act: (actor: AnyActor) => void = () => {}): Promise<Run> =>
  new Promise((resolve) => {
    const actor = start()
    const emitted: AgentEmitted[] = []
    let isTooLate = false
    actor.on('*', (event) => {
      emitted.push(event as AgentEmitted)
      if (emitted.length - 1 !== at) return
      isTooLate = actor.getSnapshot().status !== 'active'
      act(actor)
    })
    const end = () => resolve({ emitted, actor, isTooLate })
    actor.subscribe({ error: end, complete: end })
    actor.start()
  })

/** The messages that those see who only see chunks. */
const shownIn = (emitted: readonly AgentEmitted[]) =>
  emitted.flatMap((each) => (each.type === 'chunk' ? each.messages : []))

const enough: AnyEventObject = { type: 'abort', reason: 'enough' }
const abort = (actor: AnyActor) => actor.send(enough)
const ways: [string, (actor: AnyActor) => void][] = [
  ['at once', abort],
  ['in the next microtask', (actor) => queueMicrotask(() => abort(actor))],
]

describe('an abort at any emission ends in aborted, with one final chunk', () => {
  test.each(subjects)('%s', async (name, start) => {
    const whole = await runWith(start)
    expect(whole.actor.getSnapshot().output).toMatchObject({ status: 'complete' })
    // Typed output keeps some of its messages to itself.
    const showsAll = !name.startsWith('typed')
    for (const [way, act] of ways) {
      for (let at = 0; at < whole.emitted.length; at += 1) {
        const { emitted, actor, isTooLate } = await runWith(start, at, act)
        const { output } = actor.getSnapshot()
        const where = `${way}, at emission ${at} (${whole.emitted[at]?.type})`
        // In the next microtask a run may be over that was not yet at the emission.
        if (isTooLate || (way !== 'at once' && output.status === 'complete')) continue
        expect([where, output.status, output.reason]).toEqual([where, 'aborted', 'enough'])
        const finals = emitted.filter((each) => each.type === 'chunk' && each.finishReason !== 'unspecified')
        expect([where, finals.length]).toEqual([where, 1])
        expect(validateHistory(output.messages)).toEqual([])
        if (showsAll) expect([where, shownIn(emitted)]).toEqual([where, output.messages])
      }
    }
  })

  test('a decision fails with an AbortedError', async () => {
    const events = { guess: { description: 'Guess' } }
    const chosen: ScriptTurn = [{ text: 'So' }, { toolCall: { id: 'g', name: 'guess' } }]
    const start = (): AnyActor =>
      createActor(createDecision({ model: scriptedModel(['Hm.', chosen]), events }), {
        input: { prompt: 'Which?' },
      })
    const whole = await runWith(start)
    expect(whole.actor.getSnapshot().output).toEqual({ type: 'guess' })
    for (let at = 0; at < whole.emitted.length; at += 1) {
      const { actor } = await runWith(start, at, abort)
      const { status, error } = actor.getSnapshot()
      expect([at, status]).toEqual([at, 'error'])
      expect(error).toBeInstanceOf(AbortedError)
    }
  })
})

describe('listening to a child', () => {
  test.each(subjects)('of %s changes nothing outside', async (_, start) => {
    const received: unknown[] = []
    const listened = (): AnyActor => {
      const actor = start()
      const known = new Set<unknown>()
      actor.subscribe(() => {
        for (const child of Object.values<AnyActor>(actor.getSnapshot().children ?? {})) {
          if (known.has(child)) continue
          known.add(child)
          child.on?.('*', (event) => received.push(event))
        }
      })
      return actor
    }
    const [plain, watched] = [await runWith(start), await runWith(listened)]
    const stable = ({ emitted }: Run) =>
      JSON.stringify(emitted).replaceAll(/"durationMs":\d+|"timeToFirstChunkMs":\d+/g, '')
    expect(stable(watched)).toBe(stable(plain))
    expect(watched.actor.getSnapshot().output).toEqual(plain.actor.getSnapshot().output)
  })
})
