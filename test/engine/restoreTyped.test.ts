import { describe, expect, test } from 'vitest'
import { createActor } from 'xstate'
import { z } from 'zod'
import { withValues } from '../../machines/logic/runEnvironment.ts'
import { orchestratorParts } from '../../machines/orchestrators/orchestrator.ts'
import { createPhasedMachine } from '../../machines/orchestrators/phasedMachine.ts'
import { typedOutputPhases } from '../../machines/orchestrators/typedOutput.ts'
import { describeThrown } from '../../src/messages/errors.ts'
import type { ModelProfile } from '../../src/model/chatModel.ts'
import { type ScriptTurn, scriptedModel } from '../../src/testing/scriptedModel.ts'
import { compileSchema } from '../../src/tools/schema.ts'
import { wireSchemaOf } from '../../src/tools/typedAnswer.ts'
import { recorder } from './sampleTools.ts'
import { endOf } from './watching.ts'

const answerSchema = wireSchemaOf(compileSchema(z.object({ n: z.number() }), 'The schema'))
const call: ScriptTurn = [{ text: 'Let me look.' }, { toolCall: { id: 'a', name: 'echo' } }]

const start = (turns: ScriptTurn[], profile: Partial<ModelProfile>, stored?: string) => {
  const model = scriptedModel(turns, { profile })
  const echo = recorder()
  const parts = orchestratorParts({ model, tools: [echo.tool] })
  const machine = withValues(createPhasedMachine(typedOutputPhases(parts)), { answerSchema })
  const actor = createActor(machine, {
    input: { prompt: 'Go', outputSchema: answerSchema.jsonSchema },
    ...(stored && { snapshot: JSON.parse(stored) }),
  })
  const points: { stored: string; answered: number }[] = []
  let answered = 0
  actor.on('step', () => {
    answered += 1
  })
  actor.subscribe(() => points.push({ stored: JSON.stringify(actor.getPersistedSnapshot()), answered }))
  actor.start()
  return { actor, model, echo, points }
}

describe('a typed run restored at any point ends as it would have', () => {
  test.each<[string, Partial<ModelProfile>, ScriptTurn[]]>([
    [
      'native, with a correction',
      {},
      [call, [{ text: '{"n":' }, { text: '"x"}' }], [{ text: '{"n"' }, { text: ':1}' }]],
    ],
    ['in two phases', { schemaWithTools: false }, [call, 'It is one.', [{ text: '{"n"' }, { text: ':1}' }]]],
    [
      'through return_result',
      { nativeSchema: false },
      [call, [{ toolCall: { id: 'r', name: 'return_result', arguments: { n: 1 } } }]],
    ],
  ])('%s', async (_, profile, turns) => {
    const reference = start(turns, profile)
    const expected = await endOf(reference.actor)
    expect(expected).toMatchObject({ status: 'complete', output: '{"n":1}' })
    const broken: string[] = []
    // A request that was under way is made again; one that was answered is not.
    for (const [index, { stored, answered }] of reference.points.entries()) {
      const { actor, model } = start(turns.slice(answered), profile, stored)
      try {
        expect(await endOf(actor, 500)).toEqual(expected)
        model.assertDone()
      } catch (error) {
        const { value, children } = JSON.parse(stored)
        const inner = JSON.stringify([children.run?.snapshot.value, children.run?.snapshot.status])
        broken.push(`${value} ${inner}, snapshot ${index}: ${describeThrown(error).slice(0, 300)}`)
      } finally {
        actor.stop()
      }
    }
    expect(broken).toEqual([])
  })
})
